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
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

import io.leaderelection.Term;
import io.leaderelection.faults.CommitLog.Commit;
import io.leaderelection.faults.CommitLog.Row;

/**
 * Checks that nothing of a term is committed after a later term was granted: after the
 * commit of a {@link TermRow} that records the grant, or of one that was written in the
 * later term. Rows that record a grant may be late themselves, since nothing fences them.
 * The rows of one transaction are committed at once, so none is later than another.
 */
final class CommitOrder {

	private static final String TABLE = "public.term_rows";

	/** The commit that was the first to show a term. */
	private final NavigableMap<Term, Commit> shown = new TreeMap<>();

	private final List<Violation> violations = new ArrayList<>();

	private long written;

	/**
	 * Add the commit that comes next.
	 */
	void add(Commit commit) {
		List<Row> own = commit.rows().stream().filter((row) -> row.table().equals(TABLE)).toList();
		List<Row> fenced = own.stream().filter((row) -> !row.value("number").equals("0")).toList();
		fenced.forEach((row) -> check(commit, row));
		this.written += fenced.isEmpty() ? 0 : 1;
		own.forEach((row) -> this.shown.putIfAbsent(term(row), commit));
	}

	private void check(Commit commit, Row row) {
		Term term = term(row);
		this.shown.tailMap(term, false)
			.entrySet()
			.stream()
			.min(Comparator.comparingLong((entry) -> entry.getValue().lsn()))
			.ifPresent(
					(later) -> this.violations.add(new Violation(row, term, commit, later.getKey(), later.getValue())));
	}

	private static Term term(Row row) {
		return Entry.term(row.value("term")).orElseThrow();
	}

	/**
	 * Return how many transactions have committed a fenced row.
	 */
	long written() {
		return this.written;
	}

	/**
	 * Return how many terms have shown.
	 */
	int terms() {
		return this.shown.size();
	}

	List<Violation> violations() {
		return List.copyOf(this.violations);
	}

	/**
	 * A row that was committed when a later term had shown.
	 *
	 * @param row the row
	 * @param term its term
	 * @param commit its commit
	 * @param laterTerm the first of the later terms that has shown
	 * @param evidence the commit before that has shown it
	 */
	record Violation(Row row, Term term, Commit commit, Term laterTerm, Commit evidence) {

		/**
		 * How late the row is, by the clock of the server.
		 */
		Duration lateness() {
			return Duration.between(this.evidence.time(), this.commit.time());
		}

		@Override
		public String toString() {
			return "%s of term %s, committed by %d at %s, %d us after term %s had shown in %s".formatted(
					this.row.columns(), this.term, this.commit.transaction(), this.commit.time(),
					lateness().toNanos() / 1000, this.laterTerm, this.evidence);
		}

	}

}
