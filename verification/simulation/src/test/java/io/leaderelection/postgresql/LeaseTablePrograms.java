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

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import io.leaderelection.simulation.server.Activity;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.FenceRow;
import io.leaderelection.simulation.server.RowLock;
import io.leaderelection.simulation.server.SimRows;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SimTable.CandidateRow;
import io.leaderelection.simulation.server.SimTable.Snapshot;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.TableRow;
import io.leaderelection.simulation.server.Timeout;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link LeaseTableSql} as programs for a simulated server, which
 * answer with the rows of the last query. Each method returns a new statement, which is
 * submitted once. A change there is made here too: the tests compare both.
 */
final class LeaseTablePrograms {

	private final Mutant mutant;

	LeaseTablePrograms(Mutant mutant) {
		this.mutant = mutant;
	}

	Statement<Rows> round(Collection<String> elections, Collection<Renewal> renewals) {
		List<String> renewed = new ArrayList<>();
		return new Program() {

			@Override
			void write(Backend backend) throws SqlError {
				for (Renewal renewal : renewals) {
					TableRow row = lock(backend, renewal.election(), (entry) -> isRenewable(entry, renewal));
					if (row != null) {
						leases(backend).update(backend, renewal.election(), row.withBeat(renewal.beat()));
						renewed.add(renewal.election());
						written(backend, is(Mutant.RENEWAL_NOT_FLUSHED));
					}
				}
			}

			@Override
			Rows read(Backend backend) {
				Rows rows = new Rows();
				for (String election : new TreeSet<>(elections)) {
					TableRow row = snapshot().leases().get(election);
					if (row != null) {
						rows.add("election", election, "term", row.term(), "timeline", row.timeline(),
								"server_timeline", backend.server().timeline(), "beat", row.beat(), "lease",
								row.leaseMillis(), "holder", row.holder(), "token", row.token(), "since", null,
								"resign_term", row.resignTerm(), "renewed", renewed.contains(election), "in_recovery",
								false);
					}
				}
				return rows;
			}

		};
	}

	private static boolean isRenewable(TableRow entry, Renewal renewal) {
		return entry.term() == renewal.term() && renewal.token().toString().equals(entry.token())
				&& entry.beat() <= renewal.beat();
	}

	/**
	 * A step inserts and commits, so that no other session waits for it.
	 */
	Statement<Rows> insert(Collection<String> elections) {
		return new Program() {

			@Override
			void write(Backend backend) throws SqlError {
				for (String election : elections) {
					if (leases(backend).insert(election, TableRow.NEW)) {
						written(backend, false);
					}
				}
			}

			@Override
			Rows read(Backend backend) {
				return new Rows().add("inserted", true);
			}

		};
	}

	/**
	 * Without nodes of the other store.
	 */
	Statement<Rows> takeOver(LeaseRow observed, Identity holder) {
		return new Program() {

			private @Nullable TableRow taken;

			private boolean passed;

			@Override
			void write(Backend backend) throws SqlError {
				long timeline = backend.server().timeline();
				TableRow row = (timeline == observed.serverTimeline())
						? lock(backend, observed.election(), (entry) -> isAsObserved(entry, observed)) : null;
				if (row != null) {
					long id = backend.transactionId();
					TableRow changed = new TableRow(is(Mutant.TERM_NOT_RAISED) ? Math.max(row.term(), 1) : id, timeline,
							0, holder.leaseMillis(), holder.node(), holder.token().toString(), 0);
					leases(backend).update(backend, observed.election(), changed);
					this.passed = passFence(backend, observed.election(), changed.term());
					written(backend, false);
					this.taken = changed;
				}
			}

			@Override
			Rows read(Backend backend) {
				TableRow row = this.taken;
				return new Rows().add("term", (row != null) ? row.term() : null, "timeline",
						(row != null) ? row.timeline() : null, "passed", this.passed, "other", null);
			}

		};
	}

	private boolean isAsObserved(TableRow entry, LeaseRow observed) {
		return entry.term() == observed.term() && entry.timeline() == observed.timeline()
				&& (entry.beat() == observed.beat() || is(Mutant.BEAT_NOT_COMPARED));
	}

	/**
	 * No node uses the other store.
	 */
	Statement<Rows> otherStore() {
		return new Query((backend) -> new Rows().add("pid", null));
	}

	Statement<Rows> passBarrier(String election, Term term, UUID token) {
		Predicate<TableRow> own = (entry) -> isOwn(entry, term, token);
		return new Program() {

			private boolean passed;

			@Override
			void write(Backend backend) throws SqlError {
				if (is(Mutant.NO_BARRIER)) {
					this.passed = true;
				}
				else if (sees(election, own) && fences(backend).tryLock(backend, election, RowLock.NO_KEY_UPDATE)
						&& lock(backend, election, own) != null) {
					fences(backend).update(backend, election, new FenceRow(term.transactionId()));
					written(backend, false);
					this.passed = true;
				}
			}

			@Override
			Rows read(Backend backend) {
				return new Rows().add("passed", this.passed, "held", sees(election, own));
			}

		};
	}

	/**
	 * Also ends the sessions among them that are stuck in the middle of a request.
	 */
	Statement<Rows> lockers(String election, long leaseMillis) {
		return new Query((backend) -> {
			SimServer server = backend.server();
			List<Integer> lockers = Stream
				.concat(fences(backend).lockers(election).stream(), leases(backend).lockers(election).stream())
				.filter((pid) -> pid != backend.pid())
				.distinct()
				.sorted()
				.toList();
			long latest = server.clock().now() - leaseMillis * 1_000_000;
			Activity first = null;
			for (Activity session : server.activity()) {
				if (lockers.contains(session.pid())) {
					first = (session.pid() == lockers.get(0)) ? session : first;
					if (session.receiving() && session.stateChange() < latest) {
						server.terminate(session.pid());
					}
				}
			}
			return new Rows().add("pid", lockers.isEmpty() ? null : lockers.get(0), "application_name",
					(first != null) ? first.applicationName() : null, "role", (first != null) ? first.role() : null);
		});
	}

	Statement<Rows> release(String election, Term term, UUID token, boolean clean) {
		Predicate<TableRow> own = (entry) -> isOwn(entry, term, token);
		return new Program() {

			private boolean changed;

			@Override
			void write(Backend backend) throws SqlError {
				TableRow row = lock(backend, election, own);
				if (row != null) {
					leases(backend).update(backend, election, row.freed(clean ? null : row.holder()));
					written(backend, false);
					this.changed = true;
				}
			}

			@Override
			Rows read(Backend backend) {
				return new Rows().add("changed", this.changed, "held", sees(election, own));
			}

		};
	}

	Statement<Rows> announce(String notice) {
		return new Query((backend) -> {
			backend.notifyOnCommit(notice);
			return new Rows().add("pg_notify", "");
		});
	}

	private static boolean isOwn(TableRow entry, Term term, UUID token) {
		return isOf(entry, term) && token.toString().equals(entry.token());
	}

	private static boolean isOf(TableRow entry, Term term) {
		return entry.term() == term.transactionId() && entry.timeline() == term.timeline();
	}

	Statement<Rows> requestResignation(String election, Term term, boolean requested) {
		Predicate<TableRow> led = (entry) -> isOf(entry, term) && entry.token() != null;
		return new Program() {

			private boolean changed;

			@Override
			void write(Backend backend) throws SqlError {
				TableRow row = lock(backend, election, led);
				if (row != null) {
					leases(backend).update(backend, election, row.withResignTerm(requested ? row.term() : 0));
					written(backend, true);
					this.changed = true;
				}
			}

			@Override
			Rows read(Backend backend) {
				return new Rows().add("changed", this.changed, "held", sees(election, led));
			}

		};
	}

	/**
	 * Register a candidate and return all.
	 * @param shown what the candidate takes for its own session
	 */
	Statement<Rows> candidates(UUID session, UUID shown, String node, Collection<String> own, Collection<String> all,
			long expiryMillis) {
		return new Query((backend) -> {
			Map<String, CandidateRow> table = backend.server().table().candidates();
			long now = backend.server().clock().now();
			if (own.isEmpty()) {
				table.remove(session.toString());
			}
			else {
				table.put(session.toString(), new CandidateRow(node, List.copyOf(own), now));
			}
			table.values().removeIf((candidate) -> candidate.seen() < now - expiryMillis * 1_000_000);
			Rows rows = new Rows();
			table.entrySet()
				.stream()
				.sorted(Comparator.comparing((entry) -> entry.getValue().node()))
				.forEach((entry) -> entry.getValue()
					.elections()
					.stream()
					.filter(all::contains)
					.forEach((election) -> rows.add("election", election, "session",
							entry.getKey().equals(session.toString()) ? shown.toString() : entry.getKey(), "node",
							entry.getValue().node(), "profile", Profiles.text(NodeProfile.DEFAULT))));
			return rows;
		});
	}

	Statement<Rows> withdraw(UUID session) {
		return new Query((backend) -> {
			backend.server().table().candidates().remove(session.toString());
			return new Rows().add("done", true);
		});
	}

	/**
	 * Reads the lease as it was when the statement or, with {@code REPEATABLE READ}, the
	 * transaction began, and locks the fence as it is now, before it looks at its term.
	 */
	Statement<Rows> fence(String election, long term, long timeline, String token, long leaseMillis) {
		Predicate<TableRow> own = (entry) -> entry.term() == term
				&& (is(Mutant.FENCE_WITHOUT_TOKEN) || (entry.timeline() == timeline && token.equals(entry.token())));
		return new Statement<>() {

			private @Nullable TableRow lease;

			private @Nullable FenceRow seen;

			@Override
			protected int step(int step, Backend backend) throws SqlError {
				if (step == 0) {
					this.lease = backend.snapshot().leases().get(election);
					this.seen = backend.snapshot().fences().get(election);
					return 1;
				}
				boolean locked = isLocked(backend);
				if (locked) {
					backend.passFence();
				}
				long present = backend.setting(Timeout.IDLE_IN_TRANSACTION);
				if (!is(Mutant.NO_LIMIT_IN_FENCE) && (present == 0 || present > leaseMillis)) {
					backend.set(Timeout.IDLE_IN_TRANSACTION, leaseMillis, true);
				}
				answer(new Rows().add("passed", locked || is(Mutant.OPEN_FENCE), "set_config",
						backend.setting(Timeout.IDLE_IN_TRANSACTION) + "ms"));
				return END;
			}

			private boolean isLocked(Backend backend) throws SqlError {
				TableRow entry = this.lease;
				FenceRow present = backend.server().table().fences().row(election);
				if (entry == null || present == null || !own.test(entry) || !isOfTerm(this.seen)) {
					return false;
				}
				if (present != this.seen && backend.isRepeatableRead()) {
					throw SqlError.SERIALIZATION_FAILURE;
				}
				backend.transactionId();
				SimRows<?> locked = is(Mutant.FENCE_FOR_SHARE) ? leases(backend) : fences(backend);
				return locked.tryLock(backend, election, RowLock.SHARE) && isOfTerm(present);
			}

			private boolean isOfTerm(@Nullable FenceRow fence) {
				return fence != null && fence.term() == term;
			}

		};
	}

	Statement<Rows> isHeld(String election, Term term, UUID token) {
		return new Query((backend) -> {
			TableRow row = backend.snapshot().leases().get(election);
			FenceRow fence = backend.snapshot().fences().get(election);
			boolean held = row != null && row.term() == term.transactionId() && token.toString().equals(row.token())
					&& fence != null && fence.term() == term.transactionId();
			return new Rows().add("held", held ? 1 : 0);
		}) {

			@Override
			protected boolean isAllowedOnStandby() {
				return true;
			}

		};
	}

	private static SimRows<TableRow> leases(Backend backend) {
		return backend.server().table().leases();
	}

	private static SimRows<FenceRow> fences(Backend backend) {
		return backend.server().table().fences();
	}

	private boolean is(Mutant seeded) {
		return this.mutant == seeded;
	}

	/**
	 * A statement that begins with the settings of {@link LeaseTableSql#begin}, which a
	 * standby refuses, and goes on with one query that may write.
	 */
	private abstract static class Program extends Statement<Rows> {

		private Snapshot snapshot = new Snapshot(Map.of(), Map.of());

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			switch (step) {
				case 0 -> {
					if (backend.server().isInRecovery()) {
						throw SqlError.STANDBY;
					}
					backend.readCommitted();
					this.snapshot = backend.snapshot();
				}
				case 1 -> write(backend);
				default -> {
					answer(read(backend));
					return END;
				}
			}
			return step + 1;
		}

		abstract void write(Backend backend) throws SqlError;

		abstract Rows read(Backend backend);

		final Snapshot snapshot() {
			return this.snapshot;
		}

		final boolean sees(String election, Predicate<TableRow> wanted) {
			TableRow row = this.snapshot.leases().get(election);
			return row != null && wanted.test(row);
		}

		/**
		 * Lock a lease that is as wanted, in the snapshot and at present.
		 * @return its present version, or {@code null} if it is not, or is locked
		 */
		final @Nullable TableRow lock(Backend backend, String election, Predicate<TableRow> wanted) {
			TableRow row = leases(backend).row(election);
			return (row != null && sees(election, wanted) && wanted.test(row)
					&& leases(backend).tryLock(backend, election, RowLock.NO_KEY_UPDATE)) ? row : null;
		}

		/**
		 * Change the term of the fence, or insert it, unless a transaction has locked it.
		 */
		static boolean passFence(Backend backend, String election, long term) {
			boolean locked = fences(backend).tryLock(backend, election, RowLock.NO_KEY_UPDATE);
			if (locked) {
				fences(backend).update(backend, election, new FenceRow(term));
			}
			return locked;
		}

		/**
		 * Have the transaction commit durably, unless it is asynchronous.
		 */
		static void written(Backend backend, boolean asynchronous) throws SqlError {
			if (asynchronous) {
				backend.transactionId();
			}
			else {
				backend.write();
			}
		}

	}

	/**
	 * A statement that reads or changes everything in one step.
	 */
	private static class Query extends Statement<Rows> {

		private final Question question;

		Query(Question question) {
			this.question = question;
		}

		@Override
		protected int step(int step, Backend backend) throws SqlError {
			if (backend.server().isInRecovery() && !isAllowedOnStandby()) {
				throw SqlError.STANDBY;
			}
			answer(this.question.ask(backend));
			return END;
		}

		protected boolean isAllowedOnStandby() {
			return false;
		}

	}

	@FunctionalInterface
	private interface Question {

		Rows ask(Backend backend) throws SqlError;

	}

	/**
	 * The rows of an answer: values by the names of their columns.
	 */
	static final class Rows {

		private final List<Map<String, @Nullable Object>> rows = new ArrayList<>(1);

		/**
		 * Add a row.
		 * @param columns names and values, in turn
		 */
		Rows add(@Nullable Object... columns) {
			Map<String, @Nullable Object> row = new LinkedHashMap<>();
			for (int index = 0; index < columns.length; index += 2) {
				row.put((String) Objects.requireNonNull(columns[index]), columns[index + 1]);
			}
			this.rows.add(row);
			return this;
		}

		List<Map<String, @Nullable Object>> list() {
			return this.rows;
		}

	}

}
