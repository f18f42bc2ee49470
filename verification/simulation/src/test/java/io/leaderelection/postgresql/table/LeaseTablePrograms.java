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
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
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
import io.leaderelection.simulation.server.SimTable;
import io.leaderelection.simulation.server.SimTable.CandidateRow;
import io.leaderelection.simulation.server.SimTable.NodeRow;
import io.leaderelection.simulation.server.SimTable.Snapshot;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@link LeaseTableSql} as programs for a simulated server, which
 * answer with the rows of the last query. Each method but that of the fence returns a
 * text that stands for a new program, and is used once. A change there is made here too:
 * the tests compare both.
 */
final class LeaseTablePrograms extends LeaseTableSql {

	private static final String FENCE = "fence";

	static final long SHORT_MILLIS = 100;

	private final Sentinel sentinel;

	private final Texts texts;

	private final long timeoutMillis;

	/**
	 * Create a new {@code LeaseTablePrograms} instance with a mistake, if it is one of
	 * the statements.
	 */
	LeaseTablePrograms(ServerInspection server, long timeoutMillis, Sentinel sentinel, Texts texts) {
		super(Tables.named(LeaseTableShape.DEFAULT_TABLE), server, timeoutMillis);
		this.timeoutMillis = timeoutMillis;
		this.sentinel = sentinel;
		this.texts = texts;
		texts.define(FENCE, (parameters, client) -> {
			String idle = (String) parameters.get(0);
			return fence((String) parameters.get(1), (Long) parameters.get(2), (Long) parameters.get(3),
					UUID.fromString((String) parameters.get(4)), Long.parseLong(idle.substring(0, idle.length() - 2)));
		});
	}

	private String query(Program.Query query) {
		return this.texts.add(() -> Program.of(query));
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

	@Override
	String round(UUID token, long beat, Collection<String> elections) {
		List<String> read = List.copyOf(elections);
		return this.texts.add(() -> new Program.Raising(this.timeoutMillis / 2, token, beat, true) {

			@Override
			int goOn(int step, Backend backend) {
				Snapshot seen = backend.snapshot();
				Rows rows = new Rows();
				for (String election : read) {
					ElectionRow row = seen.elections().get(election);
					NodeRow owner = (row != null) ? seen.node(row.owner()) : null;
					CandidateRow part = (row != null && row.owner() != null)
							? seen.candidates().get(CandidateRow.key(election, row.owner())) : null;
					rows.add("election", election, "term", (row != null) ? row.term() : null, "timeline",
							(row != null) ? row.timeline() : null, "server_timeline", backend.server().timeline(),
							"owner", (row != null) ? row.owner() : null, "clean", (row != null) ? row.clean() : null,
							"since", null, "node", (owner != null) ? owner.node() : null, "beat",
							(owner != null) ? owner.beat() : null, "lease_ms",
							(owner != null) ? owner.leaseMillis() : null, "profile",
							(part != null) ? part.profile() : null, "request",
							(row != null) ? request(seen, election, row.term()) : null, "raised", isRaised(), "joined",
							seen.node(token) != null, "in_recovery", false);
				}
				return finish(rows);
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
	String insert(String election) {
		return query((backend, program) -> {
			// An insertion also waits for a change of the row that exists
			boolean exists = elections(backend).row(election) != null;
			if (!program.lock(backend, elections(backend), election, exists ? RowLock.SHARE : RowLock.UPDATE)) {
				return null;
			}
			if (!exists) {
				elections(backend).write(backend, election, ElectionRow.NEW);
				backend.write();
			}
			return Rows.of("inserted", true);
		});
	}

	@Override
	String expire(UUID token, long beat, long serverTimeline) {
		return this.texts.add(() -> new Program.Change<>(SimTable::nodes, token.toString()) {

			@Override
			boolean isWanted(NodeRow row, Backend backend) {
				return row.beat() == beat;
			}

			@Override
			boolean isPossible(Backend backend) {
				return backend.server().timeline() == serverTimeline;
			}

			@Override
			@Nullable NodeRow change(NodeRow row, Backend backend) {
				return null;
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
	String takeOver(LeaseRow observed, long serverTimeline, ElectionKeys keys, UUID token, long beat) {
		return this.texts.add(() -> new Program.Raising(SHORT_MILLIS, token, beat, false) {

			private boolean seenFree;

			@Override
			int goOn(int step, Backend backend) throws SqlError {
				if (step == 3) {
					Snapshot seen = backend.snapshot();
					ElectionRow row = seen.elections().get(observed.election());
					this.seenFree = isRaised() && row != null && isAsObserved(row, observed)
							&& seen.node(row.owner()) == null && backend.server().timeline() == serverTimeline;
					return 4;
				}
				ElectionRow row = elections(backend).row(observed.election());
				if (!this.seenFree || row == null
						|| !elections(backend).tryLock(backend, observed.election(), RowLock.UPDATE)
						|| !isAsObserved(row, observed)) {
					return finish(Rows.of("term", null, "timeline", null, "other", null));
				}
				long timeline = backend.server().timeline();
				long term = backend.transactionId();
				elections(backend).write(backend, observed.election(), row.taken(term, timeline, token));
				backend.write();
				return finish(Rows.of("term", term, "timeline", timeline, "other", null));
			}

		});
	}

	private boolean isAsObserved(ElectionRow row, LeaseRow observed) {
		return ((row.term() == observed.term() && row.timeline() == observed.timeline())
				|| is(Sentinel.TERM_NOT_COMPARED)) && Objects.equals(row.owner(), observed.owner());
	}

	/**
	 * No node uses the other store.
	 */
	@Override
	String otherStore(ElectionKeys keys) {
		return query((backend, program) -> Rows.of("pid", null));
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
	String release(String election, Term term, UUID token, boolean clean) {
		return this.texts.add(() -> new Program.Change<>(SimTable::elections, election) {

			@Override
			boolean isWanted(ElectionRow row, Backend backend) {
				return row.term() == term.transactionId() && row.timeline() == term.timeline()
						&& token.equals(row.owner());
			}

			@Override
			ElectionRow change(ElectionRow row, Backend backend) {
				return row.freed(clean || is(Sentinel.RELEASED_AS_CLEAN), backend.server().clock().trueTime());
			}

			@Override
			Rows outcome(boolean rowChanged, boolean rowHeld) {
				return Rows.of("changed", rowChanged, "held", rowHeld);
			}

		});
	}

	@Override
	String announce(String election) {
		return query((backend, program) -> {
			backend.notifyOnCommit(notice(election));
			return Rows.of("pg_notify", "");
		});
	}

	@Override
	String requestResignation(String election, UUID token, long term, String cause) {
		return query((backend, program) -> {
			CandidateRow part = upsert(backend, program, election, token);
			if (part == null) {
				return null;
			}
			backend.server()
				.table()
				.candidates()
				.write(backend, CandidateRow.key(election, token),
						new CandidateRow(election, token, part.profile(), term, (term != 0) ? cause : null));
			return Rows.of("requested", true);
		});
	}

	/**
	 * Lock the row of a candidate that is to be inserted or changed.
	 * @return its present version, or {@code null} if it is locked by another session
	 */
	private static @Nullable CandidateRow upsert(Backend backend, Program program, String election, UUID token)
			throws SqlError {
		SimRows<CandidateRow> rows = backend.server().table().candidates();
		String key = CandidateRow.key(election, token);
		if (!program.lock(backend, rows, key)) {
			return null;
		}
		backend.transactionId();
		CandidateRow present = rows.row(key);
		return (present != null) ? present : new CandidateRow(election, token, null, 0, null);
	}

	@Override
	String register(UUID token, Map<String, NodeProfile> own) {
		Map<String, NodeProfile> registered = new TreeMap<>(own);
		return query((backend, program) -> {
			for (Map.Entry<String, NodeProfile> each : registered.entrySet()) {
				CandidateRow part = upsert(backend, program, each.getKey(), token);
				if (part == null) {
					return null;
				}
				backend.server()
					.table()
					.candidates()
					.write(backend, CandidateRow.key(each.getKey(), token), new CandidateRow(each.getKey(), token,
							Profiles.text(each.getValue()), part.resignTerm(), part.resignCause()));
			}
			backend.transactionId();
			deleteOrphans(backend, token);
			return deleteParts(backend, program, token, registered.keySet()) ? Rows.of("registered", true) : null;
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
	String candidates(Collection<String> elections) {
		List<String> read = List.copyOf(elections);
		return query((backend, program) -> {
			Rows rows = new Rows();
			backend.snapshot().candidates().values().stream().flatMap((part) -> {
				NodeRow node = backend.snapshot().node(part.token());
				return (node != null && part.profile() != null && read.contains(part.election()))
						? Stream.of(Map.entry(node, part)) : Stream.empty();
			})
				.sorted(Comparator.comparing((entry) -> entry.getKey().node()))
				.forEach((entry) -> rows.add("election", entry.getValue().election(), "token", entry.getValue().token(),
						"node", entry.getKey().node(), "beat", entry.getKey().beat(), "profile",
						entry.getValue().profile()));
			return rows;
		});
	}

	@Override
	String leave(UUID token, long beat) {
		return this.texts.add(() -> new Program.Change<>(SimTable::nodes, token.toString()) {

			private @Nullable Boolean owns;

			@Override
			boolean isWanted(NodeRow row, Backend backend) {
				if (this.owns == null) {
					this.owns = backend.snapshot()
						.elections()
						.values()
						.stream()
						.anyMatch((entry) -> token.equals(entry.owner()));
				}
				return row.beat() <= beat && !this.owns;
			}

			@Override
			@Nullable NodeRow change(NodeRow row, Backend backend) {
				return null;
			}

		});
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

}
