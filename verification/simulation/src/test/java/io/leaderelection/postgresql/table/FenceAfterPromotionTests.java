/*
 * Copyright 2026-present the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *      https://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package io.leaderelection.postgresql.table;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTableSql.Identity;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.Texts;
import io.leaderelection.simulation.VirtualTime;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.Reply;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A history that the simulation meets too rarely by chance: a promotion loses a takeover,
 * and the next one has the same transaction id.
 */
@Tag("ring2")
class FenceAfterPromotionTests {

	private static final String ELECTION = "election";

	private static final long LEASE_MILLIS = 1000;

	private static final ElectionKeys KEYS = ElectionKeys.derive("simulation", ELECTION);

	private final VirtualTime time = new VirtualTime();

	private final Texts texts = new Texts();

	@Test
	void transactionOfATakeoverThatWasLostIsRefused() throws SqlError {
		LeaseTablePrograms programs = new LeaseTablePrograms(Texts.SERVER, true, LEASE_MILLIS, Sentinel.NONE,
				this.texts);
		ServerClock clock = new ServerClock(this.time, 1, 0);
		SimServer primary = new SimServer(this.time, clock, () -> 0, ServerSettings.DEFAULTS);
		submit(primary, this.texts.program(programs.insert(List.of(ELECTION))));
		SimServer standby = primary.newStandby(clock);
		UUID lostToken = new UUID(0, 1);
		long lost = takeOver(programs, primary, lostToken);
		standby.promote();
		assertThat(takeOver(programs, standby, new UUID(0, 2))).isEqualTo(lost);
		assertThat(passes(programs, standby, lost, primary.timeline(), lostToken)).isFalse();
		assertThat(passes(programs, standby, lost, standby.timeline(), new UUID(0, 2))).isTrue();
	}

	private boolean passes(LeaseTablePrograms programs, SimServer server, long term, long timeline, UUID token)
			throws SqlError {
		Rows rows = submit(server, programs.fence(ELECTION, term, timeline, token, LEASE_MILLIS));
		return (Boolean) Objects.requireNonNull(rows.list().get(0).get("passed"));
	}

	private long takeOver(LeaseTablePrograms programs, SimServer server, UUID token) throws SqlError {
		LeaseRow observed = new LeaseRow(ELECTION, 0, 0, null, true, null, null, null, null);
		String joining = programs.join(new Identity(token, "node-" + token, LEASE_MILLIS, "host", 1));
		submit(server, this.texts.program(joining));
		String taking = programs.takeOver(Map.of(observed, KEYS), server.timeline(), token, 1);
		Rows rows = submit(server, this.texts.program(taking));
		return (Long) Objects.requireNonNull(rows.list().get(0).get("term"));
	}

	private <T> T submit(SimServer server, Statement<T> statement) throws SqlError {
		Backend backend = Objects.requireNonNull(server.connect("node", "postgres", (end) -> {
		}));
		List<Reply<T>> replies = new ArrayList<>(1);
		backend.submit(statement, replies::add);
		this.time.advance(1_000_000_000);
		return replies.get(0).get();
	}

}
