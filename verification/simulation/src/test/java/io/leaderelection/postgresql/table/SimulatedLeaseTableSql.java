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

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.Texts;

/**
 * Texts that stand for the programs of the statements of {@link LeaseTableSql}.
 */
final class SimulatedLeaseTableSql extends LeaseTableSql {

	static final String FENCE = "fence";

	private final long timeoutMillis;

	private final LeaseTablePrograms programs;

	private final Texts texts;

	SimulatedLeaseTableSql(ServerInspection server, long timeoutMillis, LeaseTablePrograms programs, Texts texts) {
		super(Tables.named(LeaseTableShape.DEFAULT_TABLE), server, timeoutMillis);
		this.timeoutMillis = timeoutMillis;
		this.programs = programs;
		this.texts = texts;
	}

	@Override
	String join(Identity identity) {
		return this.texts.add(() -> this.programs.join(identity));
	}

	@Override
	String round(UUID token, long beat, Collection<String> elections) {
		List<String> read = List.copyOf(elections);
		return this.texts.add(() -> this.programs.round(token, beat, read, this.timeoutMillis / 2));
	}

	@Override
	String insert(String election) {
		return this.texts.add(() -> this.programs.insert(election));
	}

	@Override
	String expire(UUID token, long beat, long serverTimeline) {
		return this.texts.add(() -> this.programs.expire(token, beat, serverTimeline));
	}

	@Override
	String takeOver(LeaseRow row, long serverTimeline, ElectionKeys keys, UUID token, long beat) {
		return this.texts.add(() -> this.programs.takeOver(row, serverTimeline, token, beat));
	}

	@Override
	String otherStore(ElectionKeys keys) {
		return this.texts.add(this.programs::otherStore);
	}

	@Override
	String lockers(String election, long leaseMillis) {
		return this.texts.add(() -> this.programs.lockers(election, leaseMillis));
	}

	@Override
	String release(String election, Term term, UUID token, boolean clean) {
		return this.texts.add(() -> this.programs.release(election, term, token, clean));
	}

	@Override
	String announce(String election) {
		return this.texts.add(() -> this.programs.announce(notice(election)));
	}

	@Override
	String requestResignation(String election, UUID token, long term, String cause) {
		return this.texts.add(() -> this.programs.requestResignation(election, token, term, cause));
	}

	@Override
	String register(UUID token, Map<String, NodeProfile> own) {
		Map<String, NodeProfile> registered = new TreeMap<>(own);
		return this.texts.add(() -> this.programs.register(token, registered));
	}

	@Override
	String candidates(Collection<String> elections) {
		List<String> read = List.copyOf(elections);
		return this.texts.add(() -> this.programs.candidates(read));
	}

	@Override
	String leave(UUID token, long beat) {
		return this.texts.add(() -> this.programs.leave(token, beat));
	}

	@Override
	String fence() {
		return FENCE;
	}

	@Override
	String isHeld(String election, Term term, UUID token) {
		return this.texts.add(() -> this.programs.isHeld(election, term, token));
	}

}
