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

package io.leaderelection.postgresql;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.LeaseTablePrograms.Rows;
import io.leaderelection.simulation.server.Statement;

/**
 * Texts that stand for the programs of the statements of {@link LeaseTableSql}.
 */
final class SimulatedLeaseTableSql extends LeaseTableSql {

	static final String FENCE = "fence";

	private final LeaseTablePrograms programs;

	private final Texts texts;

	/** In place of a random one, so that histories are repeatable. */
	private final UUID candidate;

	SimulatedLeaseTableSql(String node, ServerInspection server, long timeoutMillis, LeaseTablePrograms programs,
			Texts texts) {
		super(Tables.named(DEFAULT_TABLE), server, timeoutMillis);
		this.programs = programs;
		this.texts = texts;
		this.candidate = new UUID(0, node.hashCode());
	}

	@Override
	String round(Collection<String> elections, Collection<Renewal> renewals) {
		List<String> read = List.copyOf(elections);
		List<Renewal> renewed = List.copyOf(renewals);
		return this.texts.add(() -> this.programs.round(read, renewed));
	}

	@Override
	String insert(Collection<String> elections) {
		List<String> missing = List.copyOf(elections);
		return this.texts.add(() -> this.programs.insert(missing));
	}

	@Override
	String takeOver(LeaseRow row, ElectionKeys keys, Identity holder) {
		return this.texts.add(() -> this.programs.takeOver(row, holder));
	}

	@Override
	String otherStore(ElectionKeys keys) {
		return this.texts.add(this.programs::otherStore);
	}

	@Override
	String passBarrier(String election, Term term, UUID token) {
		return this.texts.add(() -> this.programs.passBarrier(election, term, token));
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
	String requestResignation(String election, Term term, boolean requested) {
		return this.texts.add(() -> this.programs.requestResignation(election, term, requested));
	}

	@Override
	String candidates(UUID session, String node, Map<String, NodeProfile> own, Collection<String> all,
			long expiryMillis) {
		List<String> registered = List.copyOf(own.keySet());
		List<String> read = List.copyOf(all);
		return this.texts
			.add(() -> this.programs.candidates(this.candidate, session, node, registered, read, expiryMillis));
	}

	@Override
	String withdraw(UUID session) {
		return this.texts.add(() -> this.programs.withdraw(this.candidate));
	}

	@Override
	String fence() {
		return FENCE;
	}

	@Override
	String isHeld(String election, Term term, UUID token) {
		return this.texts.add(() -> this.programs.isHeld(election, term, token));
	}

	/**
	 * Gives each statement a text of its own.
	 */
	@FunctionalInterface
	interface Texts {

		String add(Supplier<Statement<Rows>> program);

	}

}
