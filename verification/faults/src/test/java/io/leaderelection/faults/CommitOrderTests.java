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
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

import io.leaderelection.Term;
import io.leaderelection.faults.CommitLog.Commit;
import io.leaderelection.faults.CommitLog.Row;
import io.leaderelection.faults.CommitOrder.Violation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link CommitOrder}, with invented commits.
 */
@Tag("ring1")
class CommitOrderTests {

	private static final String TABLE = "public.term_rows";

	private static final Term FIRST = new Term(0, 1, 700);

	private static final Term SECOND = new Term(0, 1, 800);

	private static final Term THIRD = new Term(0, 1, 900);

	private final CommitOrder order = new CommitOrder();

	private long lsn;

	@Test
	void nothingIsWrongWhereTermsFollowEachOther() {
		commit(grant(FIRST));
		commit(write(FIRST), write(FIRST));
		commit(row("public.other", THIRD, 1));
		commit(write(FIRST));
		commit(write(SECOND));
		commit(grant(SECOND));
		assertThat(this.order.violations()).isEmpty();
		assertThat(this.order.written()).isEqualTo(3);
		assertThat(this.order.terms()).isEqualTo(2);
	}

	@Test
	void writeAfterGrantOfLaterTerm() {
		commit(grant(FIRST));
		commit(write(FIRST));
		commit(grant(SECOND));
		commit(write(FIRST));
		assertThat(this.order.violations()).singleElement().satisfies((violation) -> {
			assertThat(violation.term()).isEqualTo(FIRST);
			assertThat(violation.laterTerm()).isEqualTo(SECOND);
			assertThat(violation.lateness()).isEqualTo(Duration.ofMillis(1));
		});
	}

	@Test
	void writeAfterWriteOfLaterTerm() {
		commit(write(SECOND));
		commit(write(FIRST));
		assertThat(this.order.violations()).hasSize(1);
	}

	@Test
	void everyLateRowCountsAndIsLateSinceTheFirstOfLaterTerms() {
		commit(grant(THIRD));
		commit(write(SECOND));
		commit(write(FIRST), write(THIRD), write(FIRST));
		assertThat(this.order.violations()).extracting(Violation::lateness)
			.containsExactly(Duration.ofMillis(1), Duration.ofMillis(2), Duration.ofMillis(2));
		assertThat(this.order.violations()).extracting(Violation::laterTerm).containsOnly(THIRD);
	}

	@Test
	void rowsOfOneTransactionAreCommittedAtOnce() {
		commit(write(SECOND), write(FIRST));
		assertThat(this.order.violations()).isEmpty();
		commit(write(FIRST));
		assertThat(this.order.violations()).hasSize(1);
	}

	@Test
	void grantThatIsReportedLateIsNoViolation() {
		commit(grant(SECOND));
		commit(grant(FIRST));
		commit(write(SECOND));
		assertThat(this.order.violations()).isEmpty();
	}

	@Test
	void termsAreComparedByTheirPartsAsNumbers() {
		for (List<Term> pair : List.of(List.of(new Term(0, 1, 999), new Term(0, 1, 1000)),
				List.of(new Term(0, 1, 5_000_000_000L), new Term(0, 2, 3)),
				List.of(new Term(0, 9, 1), new Term(0, 10, 1)), List.of(new Term(0, 7, 7), new Term(1, 1, 1)),
				List.of(new Term(0, 0, 2_147_483_648L), new Term(0, 0, 2_147_483_649L)))) {
			assertThat(violations(List.of(write(pair.get(0)), write(pair.get(1))))).as("%s", pair).isZero();
			assertThat(violations(List.of(write(pair.get(1)), write(pair.get(0))))).as("%s", pair).isOne();
		}
	}

	@Test
	void anyExchangeOfNeighboursOfDifferentTermsIsFound() {
		SplittableRandom random = new SplittableRandom(1);
		List<Row> rows = new ArrayList<>();
		for (int term = 700; term < 720; term++) {
			rows.add(grant(new Term(0, 1, term)));
			for (int i = random.nextInt(4); i >= 0; i--) {
				rows.add(write(new Term(0, 1, term)));
			}
		}
		assertThat(violations(rows)).isZero();
		int exchanges = 0;
		for (int i = 1; i < rows.size(); i++) {
			List<Row> exchanged = new ArrayList<>(rows);
			Collections.swap(exchanged, i - 1, i);
			boolean sameTerm = rows.get(i).value("term").equals(rows.get(i - 1).value("term"));
			assertThat(violations(exchanged)).isEqualTo(sameTerm ? 0 : 1);
			exchanges += sameTerm ? 0 : 1;
		}
		assertThat(exchanges).isEqualTo(19);
	}

	@Test
	void rowWithoutTermIsAnError() {
		Row row = new Row(TABLE, "INSERT", Map.of("number", "1"));
		assertThatIllegalStateException().isThrownBy(() -> commit(row)).withMessageContaining("term");
	}

	private void commit(Row... rows) {
		this.order.add(commit(++this.lsn, rows));
	}

	private static int violations(List<Row> commits) {
		CommitOrder order = new CommitOrder();
		for (int i = 0; i < commits.size(); i++) {
			order.add(commit(i + 1, commits.get(i)));
		}
		return order.violations().size();
	}

	private static Commit commit(long lsn, Row... rows) {
		return new Commit(lsn, lsn, Instant.EPOCH.plusMillis(lsn), List.of(rows));
	}

	private static Row write(Term term) {
		return row(TABLE, term, 1);
	}

	private static Row grant(Term term) {
		return row(TABLE, term, 0);
	}

	private static Row row(String table, Term term, long number) {
		return new Row(table, "INSERT", Map.of("term", term.toString(), "number", Long.toString(number)));
	}

}
