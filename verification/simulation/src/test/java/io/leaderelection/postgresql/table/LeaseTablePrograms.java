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
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.Texts;
import io.leaderelection.simulation.server.Activity;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.ElectionRow;
import io.leaderelection.simulation.server.RowLock;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.SimRows;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SimTable.CandidateRow;
import io.leaderelection.simulation.server.SimTable.NodeRow;
import io.leaderelection.simulation.server.SimTable.Snapshot;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.Timeout;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link LeaseTableSql} as programs for a simulated server, which
 * answer with the rows of the last query. Each method but that of the fence returns a
 * text that stands for a new program, and is used once. A change there is made here too:
 * the tests compare both.
 */
final class LeaseTablePrograms extends LeaseTableSql {

	private static final String FENCE = "fence";

	private static final String LISTEN = "listen";

	private final Sentinel sentinel;

	private final Texts texts;

	private final long timeoutMillis;

	/**
	 * Create a new {@code LeaseTablePrograms} instance with a mistake, if it is one of
	 * the statements.
	 */
	LeaseTablePrograms(ServerInspection server, boolean direct, long timeoutMillis, Sentinel sentinel, Texts texts) {
		super(Tables.named(LeaseTableShape.DEFAULT_TABLE), server, direct, timeoutMillis);
		this.timeoutMillis = timeoutMillis;
		this.sentinel = sentinel;
		this.texts = texts;
		texts.define(LISTEN, (parameters, client) -> Statements.answer((backend) -> {
			backend.listen(client::receive);
			backend.set(Timeout.IDLE_SESSION, 30_000, false);
			return Rows.of("timeout", "30000");
		}));
		texts.define(FENCE, (parameters, client) -> {
			String idle = (String) parameters.get(0);
			return fence((String) parameters.get(1), (Long) parameters.get(2), (Long) parameters.get(3),
					UUID.fromString((String) parameters.get(4)), Long.parseLong(idle.substring(0, idle.length() - 2)));
		});
	}

	private String query(Program.Query query) {
		return this.texts.add(() -> Program.of(this.timeoutMillis / 2, query));
	}

	@Override
	String join(Identity identity) {
		String key = identity.token().toString();
		return query((backend, program) -> {
			if (!program.lock(backend, nodes(backend), key)) {
				return null;
			}
			nodes(backend).write(backend, key, new NodeRow(identity.node(), 0, identity.leaseMillis()));
			backend.write();
			return Rows.of("joined", true);
		});
	}

	/**
	 * The beat is raised by a statement of its own if the session may own something, and
	 * otherwise by one that reads what its own snapshot shows.
	 */
	@Override
	String round(UUID token, long beat, boolean owns, Collection<String> elections, boolean candidates) {
		List<String> read = List.copyOf(elections);
		return this.texts.add(() -> new Program.Raising(this.timeoutMillis / 2, token, beat, true) {

			private @Nullable Snapshot own;

			@Override
			void begin(Backend backend) {
				this.own = owns ? null : backend.snapshot();
			}

			@Override
			int goOn(int step, Backend backend) throws SqlError {
				Snapshot seen = (this.own != null) ? this.own : backend.snapshot();
				Object[] answer = { "raised", isRaised(), "joined", seen.node(token) != null, "server_timeline",
						backend.server().timeline(), "in_recovery", false, "pid", backend.pid() };
				Rows rows = new Rows();
				for (String election : read) {
					ElectionRow row = seen.elections().get(election);
					NodeRow owner = (row != null) ? seen.node(row.owner()) : null;
					CandidateRow part = (row != null && row.owner() != null)
							? seen.candidates().get(CandidateRow.key(election, row.owner())) : null;
					add(rows, answer, "listed", false, "election", election, "term", (row != null) ? row.term() : null,
							"timeline", (row != null) ? row.timeline() : null, "owner",
							(row != null) ? row.owner() : null, "clean", (row != null) ? row.clean() : null, "since",
							null, "node", (owner != null) ? owner.node() : null, "beat",
							(owner != null) ? owner.beat() : null, "lease_ms",
							(owner != null) ? owner.leaseMillis() : null, "profile",
							(part != null) ? part.profile() : null, "request",
							(row != null) ? request(seen, election, row.term()) : null, "paused", null);
				}
				if (candidates) {
					list(rows, answer, seen);
				}
				return finish(rows);
			}

			private void list(Rows rows, Object[] answer, Snapshot seen) {
				seen.candidates()
					.values()
					.stream()
					.filter((part) -> part.profile() != null && read.contains(part.election())
							&& seen.node(part.token()) != null)
					.sorted(Comparator.comparing((part) -> seen.node(part.token()).node()))
					.forEach((part) -> add(rows, answer, "listed", true, "election", part.election(), "term", null,
							"timeline", null, "owner", part.token(), "clean", null, "since", null, "node",
							seen.node(part.token()).node(), "beat", seen.node(part.token()).beat(), "lease_ms", null,
							"profile", part.profile(), "request", null, "paused", null));
			}

			private void add(Rows rows, Object[] answer, @Nullable Object... columns) {
				rows.add(Stream.concat(Stream.of(columns), Stream.of(answer)).toArray());
			}

		});
	}

	private static @Nullable String request(Snapshot seen, String election, long term) {
		return seen.candidates()
			.values()
			.stream()
			.filter((part) -> part.election().equals(election) && part.resignTerm() != 0 && part.resignTerm() == term)
			.map((part) -> {
				NodeRow asking = seen.node(part.token());
				return ((asking != null) ? asking.node() : "a node") + ": "
						+ Objects.requireNonNullElse(part.resignCause(), "");
			})
			.findFirst()
			.orElse(null);
	}

	@Override
	String insert(Collection<String> elections) {
		List<String> missing = List.copyOf(elections);
		return query((backend, program) -> {
			for (String election : missing) {
				// An insertion also waits for a change of the row that exists
				boolean exists = elections(backend).row(election) != null;
				if (!program.lock(backend, elections(backend), election, exists ? RowLock.SHARE : RowLock.UPDATE)) {
					return null;
				}
				if (!exists) {
					elections(backend).write(backend, election, ElectionRow.NEW);
					backend.write();
				}
			}
			return Rows.of("inserted", true);
		});
	}

	/**
	 * All rows of sessions are deleted, then those of elections are marked.
	 */
	@Override
	String expire(Map<UUID, Long> beats, long serverTimeline) {
		return this.texts.add(() -> new Deletion(this.timeoutMillis / 2, beats, true) {

			@Override
			boolean isWanted(Snapshot seen, UUID token, long beat, long observed, Backend backend) {
				return beat == observed && backend.server().timeline() == serverTimeline;
			}

		});
	}

	@Override
	String leave(Map<UUID, Long> beats) {
		return this.texts.add(() -> new Deletion(this.timeoutMillis / 2, beats, false) {

			@Override
			boolean isWanted(Snapshot seen, UUID token, long beat, long observed, Backend backend) {
				return beat <= observed
						&& seen.elections().values().stream().noneMatch((entry) -> token.equals(entry.owner()));
			}

		});
	}

	/**
	 * Delete the rows of a candidate, but for some elections.
	 * @return false if that waits for a lock
	 */
	private static boolean deleteParts(Backend backend, Program program, UUID token, Collection<String> others)
			throws SqlError {
		SimRows<CandidateRow> rows = backend.server().table().candidates();
		for (Map.Entry<String, CandidateRow> part : rows.snapshot(backend).entrySet()) {
			if (part.getValue().token().equals(token) && !others.contains(part.getValue().election())) {
				if (!program.lock(backend, rows, part.getKey())) {
					return false;
				}
				rows.write(backend, part.getKey(), null);
			}
		}
		return true;
	}

	/**
	 * Without nodes of the other store.
	 */
	@Override
	String takeOver(Map<LeaseRow, ElectionKeys> rows, long serverTimeline, UUID token, long beat) {
		List<LeaseRow> observed = List.copyOf(rows.keySet());
		return this.texts.add(() -> new Program.Raising(this.timeoutMillis / 2, token, beat, false) {

			private final Set<LeaseRow> seenFree = new LinkedHashSet<>();

			@Override
			int goOn(int step, Backend backend) throws SqlError {
				if (step == 3) {
					Snapshot seen = backend.snapshot();
					observed.stream().filter((row) -> isFree(seen, row, backend)).forEach(this.seenFree::add);
					return 4;
				}
				Rows answer = new Rows();
				for (LeaseRow row : observed) {
					boolean taken = this.seenFree.contains(row) && take(row, backend);
					answer.add("election", row.election(), "term", taken ? backend.transactionId() : null, "timeline",
							taken ? backend.server().timeline() : null, "other", null);
				}
				return finish(answer);
			}

			private boolean isFree(Snapshot seen, LeaseRow row, Backend backend) {
				ElectionRow present = seen.elections().get(row.election());
				return isRaised() && present != null && isAsObserved(present, row) && seen.node(present.owner()) == null
						&& backend.server().timeline() == serverTimeline;
			}

			private boolean take(LeaseRow row, Backend backend) throws SqlError {
				ElectionRow present = elections(backend).row(row.election());
				if (present == null || !elections(backend).tryLock(backend, row.election(), RowLock.UPDATE)
						|| !isAsObserved(present, row)) {
					return false;
				}
				elections(backend).write(backend, row.election(),
						present.taken(backend.transactionId(), backend.server().timeline(), token));
				backend.write();
				return true;
			}

		});
	}

	private boolean isAsObserved(ElectionRow row, LeaseRow observed) {
		return ((row.term() == observed.term() && row.timeline() == observed.timeline())
				|| is(Sentinel.TERM_NOT_COMPARED)) && (row.owner() == null || row.owner().equals(observed.owner()));
	}

	/**
	 * No node uses the other store.
	 */
	@Override
	String otherStore(Map<String, ElectionKeys> keys) {
		return query((backend, program) -> new Rows());
	}

	/**
	 * Also ends the sessions among them that are stuck in the middle of a request.
	 */
	@Override
	String lockers(String election, long leaseMillis) {
		return query((backend, program) -> {
			SimServer server = backend.server();
			ElectionRow row = backend.snapshot().elections().get(election);
			List<Integer> lockers = Stream
				.concat(elections(backend).lockers(election).stream(),
						server.table().nodes().lockers(String.valueOf((row != null) ? row.owner() : null)).stream())
				.filter((pid) -> pid != backend.pid())
				.distinct()
				.sorted()
				.toList();
			Activity first = server.activity()
				.stream()
				.filter((session) -> lockers.indexOf(session.pid()) == 0)
				.findFirst()
				.orElse(null);
			server.terminateStuck(lockers, leaseMillis);
			return Rows.of("pid", lockers.isEmpty() ? null : lockers.get(0), "application_name",
					(first != null) ? first.applicationName() : null, "role", (first != null) ? first.role() : null,
					"prepared", null);
		});
	}

	@Override
	String release(Map<LeaseRow, Boolean> rows, UUID token) {
		Map<LeaseRow, Boolean> led = new LinkedHashMap<>(rows);
		return this.texts.add(() -> new Program(this.timeoutMillis / 2) {

			private final Set<LeaseRow> seenLed = new LinkedHashSet<>();

			@Override
			int run(int step, Backend backend) throws SqlError {
				if (step == 1) {
					Snapshot seen = backend.snapshot();
					led.keySet()
						.stream()
						.filter((row) -> isLed(seen.elections().get(row.election()), row))
						.forEach(this.seenLed::add);
					return 2;
				}
				Rows freed = new Rows();
				for (LeaseRow row : this.seenLed) {
					ElectionRow present = elections(backend).row(row.election());
					if (present != null && elections(backend).tryLock(backend, row.election(), RowLock.UPDATE)
							&& isLed(present, row)) {
						boolean clean = led.get(row) || is(Sentinel.RELEASED_AS_CLEAN);
						elections(backend).write(backend, row.election(),
								present.freed(clean, backend.server().clock().trueTime()));
						backend.write();
						freed.add("election", row.election());
					}
				}
				return finish(freed);
			}

			private boolean isLed(@Nullable ElectionRow row, LeaseRow observed) {
				return row != null && row.term() == observed.term() && row.timeline() == observed.timeline()
						&& token.equals(row.owner());
			}

		});
	}

	@Override
	String announce(Collection<String> elections) {
		List<String> released = List.copyOf(elections);
		return query((backend, program) -> {
			released.forEach((election) -> backend.notifyOnCommit(notice(election)));
			return Rows.of("pg_notify", "");
		});
	}

	/**
	 * Lock the row of a candidate that is to be inserted or changed.
	 * @return false if it is locked by another session
	 */
	private static boolean upsert(Backend backend, Program program, String election, UUID token) throws SqlError {
		boolean locked = program.lock(backend, backend.server().table().candidates(),
				CandidateRow.key(election, token));
		if (locked) {
			backend.transactionId();
		}
		return locked;
	}

	@Override
	String register(UUID token, Collection<String> elections, Map<String, Part> changed) {
		List<String> all = List.copyOf(elections);
		Map<String, Part> registered = new TreeMap<>(changed);
		return query((backend, program) -> {
			for (Map.Entry<String, Part> each : registered.entrySet()) {
				if (!upsert(backend, program, each.getKey(), token)) {
					return null;
				}
				Part part = each.getValue();
				Request request = part.request();
				backend.server()
					.table()
					.candidates()
					.write(backend, CandidateRow.key(each.getKey(), token), new CandidateRow(each.getKey(), token,
							part.candidate() ? Profiles.text(part.profile()) : null,
							(request != null) ? request.term() : 0, (request != null) ? request.cause() : null));
			}
			backend.transactionId();
			deleteOrphans(backend, token);
			return deleteParts(backend, program, token, all) ? Rows.of("registered", true) : null;
		});
	}

	/**
	 * Delete the rows of other candidates whose nodes have none.
	 */
	private static void deleteOrphans(Backend backend, UUID token) {
		SimRows<CandidateRow> rows = backend.server().table().candidates();
		rows.snapshot(backend).forEach((key, part) -> {
			if (!part.token().equals(token) && backend.snapshot().node(part.token()) == null
					&& rows.tryLock(backend, key, RowLock.UPDATE)) {
				rows.write(backend, key, null);
			}
		});
	}

	@Override
	String listen() {
		return LISTEN;
	}

	@Override
	String fence() {
		return FENCE;
	}

	/**
	 * Reads the rows as they were when the statement or, with {@code REPEATABLE READ},
	 * the transaction began, and locks the election as it is now, before it looks at its
	 * term.
	 */
	Statement<Rows> fence(String election, long term, long timeline, UUID token, long leaseMillis) {
		return new FenceProgram(this.sentinel, election, leaseMillis,
				(row) -> row.term() == term && row.timeline() == timeline && token.equals(row.owner()));
	}

	@Override
	String isHeld(String election, Term term, UUID token) {
		return this.texts.query((backend) -> {
			ElectionRow row = backend.snapshot().elections().get(election);
			boolean held = row != null && row.term() == term.transactionId() && token.equals(row.owner())
					&& backend.snapshot().node(token) != null;
			return Rows.of("held", held ? 1 : 0);
		});
	}

	private static SimRows<ElectionRow> elections(Backend backend) {
		return backend.server().table().elections();
	}

	private static SimRows<NodeRow> nodes(Backend backend) {
		return backend.server().table().nodes();
	}

	private boolean is(Sentinel other) {
		return this.sentinel == other;
	}

	/**
	 * A statement that deletes rows of sessions, unless they are locked.
	 */
	private abstract static class Deletion extends Program {

		private final Map<UUID, Long> observed;

		private final boolean marks;

		private final List<UUID> deleted = new ArrayList<>();

		private Snapshot seen;

		/**
		 * Create a new {@code Deletion} instance.
		 * @param observed the beats of the sessions
		 * @param marks whether to mark the elections that they own
		 */
		Deletion(long lockMillis, Map<UUID, Long> observed, boolean marks) {
			super(lockMillis);
			this.observed = new TreeMap<>(observed);
			this.marks = marks;
		}

		@Override
		int run(int step, Backend backend) throws SqlError {
			if (step == 1) {
				this.seen = backend.snapshot();
				return 2;
			}
			if (step == 2) {
				for (Map.Entry<UUID, Long> session : this.observed.entrySet()) {
					delete(backend, session.getKey(), session.getValue());
				}
				return 3;
			}
			if (this.marks) {
				for (String election : this.seen.elections().keySet()) {
					mark(backend, election);
				}
			}
			Rows rows = new Rows();
			this.deleted.forEach((token) -> rows.add("token", token));
			return finish(rows);
		}

		private void delete(Backend backend, UUID token, long beat) throws SqlError {
			NodeRow row = this.seen.node(token);
			String key = token.toString();
			if (row != null && isWanted(this.seen, token, row.beat(), beat, backend) && nodes(backend).row(key) != null
					&& nodes(backend).tryLock(backend, key, RowLock.UPDATE)
					&& isWanted(this.seen, token, nodes(backend).row(key).beat(), beat, backend)) {
				nodes(backend).write(backend, key, null);
				backend.write();
				this.deleted.add(token);
			}
		}

		/**
		 * Return whether to delete a row, as the statement sees it and as it is at
		 * present.
		 */
		abstract boolean isWanted(Snapshot seen, UUID token, long beat, long observed, Backend backend);

		private void mark(Backend backend, String election) throws SqlError {
			UUID owner = this.seen.elections().get(election).owner();
			ElectionRow row = elections(backend).row(election);
			if (owner != null && this.deleted.contains(owner) && row != null
					&& elections(backend).tryLock(backend, election, RowLock.UPDATE) && owner.equals(row.owner())) {
				elections(backend).write(backend, election, row.expired());
				backend.write();
			}
		}

	}

}
