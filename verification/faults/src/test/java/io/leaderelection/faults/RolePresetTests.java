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

package io.leaderelection.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.HostileSchema;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A role whose presets are all against an election, and settings of the server that would
 * lose a term or hold it up.
 */
@AdvisoryLockOnly
@Tag("ring2")
class RolePresetTests {

	private static final Duration LEASE = Cluster.LEASE;

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final int CRASHES = 3;

	private static final String ROLE = "preset";

	private static PostgreSqlServer server;

	@AutoClose
	private static FaultRuns faults;

	@BeforeAll
	static void startNodes() {
		// What is not flushed at commit stays in memory for long, and a crash loses it
		server = PostgreSqlServer.start("wal_writer_delay=10s", "wal_writer_flush_after=1GB", "synchronous_commit=off");
		server.execute("CREATE ROLE " + ROLE + " LOGIN PASSWORD 'right'");
		presetTimeouts();
		presetTransactions();
		server.execute(HostileSchema.SCRIPT);
		preset("search_path", HostileSchema.SEARCH_PATH);
		faults = new FaultRuns(new Cluster(server, LEASE, TAKEOVER_DELAY, "leader-election.datasource.username=" + ROLE,
				"leader-election.datasource.password=right")
			.withServerFaults()
			.start(2), server);
	}

	private static void presetTimeouts() {
		// Long enough for the login of a node on a busy machine, and shorter than a wait
		preset("statement_timeout", "500ms");
		preset("idle_session_timeout", "300ms");
		preset("idle_in_transaction_session_timeout", "100ms");
		preset("lock_timeout", "50ms");
		if (!server.query("SELECT 1 FROM pg_settings WHERE name = 'transaction_timeout'").isEmpty()) {
			preset("transaction_timeout", "500ms");
		}
	}

	private static void presetTransactions() {
		preset("default_transaction_read_only", "on");
		preset("default_transaction_isolation", "serializable");
		preset("default_transaction_deferrable", "on");
		preset("synchronous_commit", "off");
	}

	private static void preset(String setting, String value) {
		server.execute("ALTER ROLE " + ROLE + " SET " + setting + " = "
				+ (setting.equals("search_path") ? value : "'" + value + "'"));
	}

	@Test
	void allPresetsAtOnce() {
		ServerLog log = new ServerLog(server);
		faults.run(new Fault("presets of the role, three leases", (scene) -> {
		}, FaultTable.survived(3)));
		faults.run(new Fault("leader resigned with presets of the role", FaultTable.command("resign"),
				FaultTable.handedOver("RESIGNED")));
		log.verifyQuiet();
	}

	@Test
	@Tag("ring3")
	void crashRightAfterTheGrantWithoutSynchronousCommit() {
		List<Term> granted = new ArrayList<>();
		for (int i = 0; i < CRASHES; i++) {
			faults.run(new Fault("server crashed right after the grant, synchronous_commit = off", (scene) -> {
				granted.add(scene.target().last(Kind.GRANTED).orElseThrow().requiredTerm());
				server.stop("immediate");
				server.startAgain();
			}, FaultTable.expect((scene) -> scene.nextWithin(FaultScene.BACKOFF.multipliedBy(2)))));
		}
		assertThat(granted).hasSizeGreaterThanOrEqualTo(CRASHES).doesNotHaveDuplicates().isSorted();
	}

	@Test
	void missingSynchronousStandby() {
		server.execute("ALTER ROLE " + ROLE + " SET synchronous_commit = remote_apply");
		server.reload("synchronous_standby_names=missing");
		try {
			faults.run(new Fault("synchronous standby missing", (scene) -> server.execute(
					"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'leader-election %'"),
					FaultTable.expect((scene) -> scene.nextWithin(FaultScene.BACKOFF))));
		}
		finally {
			server.reload("synchronous_standby_names");
			preset("synchronous_commit", "off");
		}
	}

}
