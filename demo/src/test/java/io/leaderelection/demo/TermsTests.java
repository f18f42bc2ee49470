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

package io.leaderelection.demo;

import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Terms}: that every overlap is found, and no other is reported.
 */
@Tag("ring1")
class TermsTests {

	private final Terms terms = new Terms();

	@Test
	void findsNoOverlapOfConsecutiveTerms() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		see(1, 4100, 3, Reports.granted("1", 1000), Reports.revoked("1", 4000, "resigned"));
		see(2, 4100, 0.1, Reports.granted("2", 4010));
		assertThat(overlap("1", "2")).isZero();
		assertThat(this.terms.current()).isSameAs(led("2"));
		assertThat(span("1", 4200))
			.isEqualTo(new DemoState.Span("1", "node-1", Reports.at(1000), Reports.at(4000), "resigned", false));
		assertThat(span("2", 4200)).isEqualTo(new DemoState.Span("2", "node-2", Reports.at(4010), null, null, false));
	}

	@Test
	void findsTwoLeadersAtOnce() {
		see(1, 3400, 2.4, Reports.granted("1", 1000));
		see(2, 3600, 0.1, Reports.granted("2", 3500));
		assertThat(overlap("1", "2")).isNull();
		assertThat(span("1", 3600).provisional()).isTrue();
		// While it lasts
		see(1, 3900, 2.9, Reports.granted("1", 1000));
		assertThat(overlap("1", "2")).isEqualTo(Duration.ofMillis(400));
		assertThat(this.terms.overlapSince(Reports.START)).isEqualTo(Duration.ofMillis(400));
		assertThat(span("1", 3900)).isEqualTo(new DemoState.Span("1", "node-1", Reports.at(1000), null, null, false));
		see(1, 4100, 3, Reports.granted("1", 1000), Reports.revoked("1", 4000, "session_lost"));
		assertThat(overlap("1", "2")).isEqualTo(Duration.ofMillis(500));
		assertThat(this.terms.isClosed(led("1"))).isTrue();
	}

	@Test
	void usesMetricsOfFrozenNodeInsteadOfItsLateRevocation() {
		see(1, 3000, 2, Reports.granted("1", 1000));
		assertThat(span("1", 4900)).isEqualTo(new DemoState.Span("1", "node-1", Reports.at(1000), null, null, false));
		// Silent until its trust has expired
		assertThat(span("1", 5100))
			.isEqualTo(new DemoState.Span("1", "node-1", Reports.at(1000), Reports.at(5000), null, true));
		see(2, 6100, 0.1, Reports.granted("2", 6000));
		assertThat(overlap("1", "2")).isNull();
		assertThat(this.terms.overlapSince(Reports.START)).isNull();
		assertThat(span("1", 6100).provisional()).isTrue();
		see(1, 20100, 4.5, Reports.granted("1", 1000), Reports.revoked("1", 20000, "lease_expired"));
		assertThat(overlap("1", "2")).isZero();
		assertThat(this.terms.overlapSince(Reports.START)).isZero();
		assertThat(span("1", 20100).to()).isEqualTo(Reports.at(5500));
		assertThat(this.terms.noticed(led("1"))).isEqualTo(Reports.START.plusMillis(20000));
	}

	@Test
	void findsFrozenNodeThatLedForTooLong() {
		see(1, 3000, 2, Reports.granted("1", 1000));
		see(2, 6100, 0.1, Reports.granted("2", 6000));
		see(1, 20100, 5.25, Reports.granted("1", 1000), Reports.revoked("1", 20000, "lease_expired"));
		assertThat(overlap("1", "2")).isEqualTo(Duration.ofMillis(250));
	}

	@Test
	void calculatesOnlyFromTheLastMetrics() {
		see(1, 3100, 2, Reports.granted("1", 1000), Reports.revoked("1", 3000, "resigned"));
		see(2, 3200, 0.1, Reports.granted("2", 3100));
		// Its clock was set, or it was suspended: it has led for less time than that
		see(1, 9000, 3, Reports.granted("3", 5000));
		see(2, 10100, 0.1, Reports.granted("2", 3100), Reports.revoked("2", 4000, "resigned"),
				Reports.granted("4", 10000));
		see(1, 20000, 3.5, Reports.granted("3", 5000), Reports.revoked("3", 19000, "lease_expired"));
		assertThat(span("3", 20000).to()).isEqualTo(Reports.at(9500));
		assertThat(overlap("3", "4")).isZero();
	}

	@Test
	void doesNotCalculateWithLateMetrics() {
		see(1, 3000, 2, Reports.granted("1", 1000));
		seeLate(1, 3100, 700, 4.5, Reports.granted("1", 1000));
		see(2, 6100, 0.1, Reports.granted("2", 6000));
		see(1, 20100, 4.5, Reports.granted("1", 1000), Reports.revoked("1", 20000, "lease_expired"));
		assertThat(span("1", 20100).to()).isEqualTo(Reports.at(5500));
	}

	@Test
	void settlesTermFollowedByOneOfTheSameNodeBetweenTwoReports() {
		see(1, 3000, 2, Reports.granted("1", 1000));
		see(1, 20100, 5.1, Reports.granted("1", 1000), Reports.revoked("1", 19000, "lease_expired"),
				Reports.granted("2", 19500));
		assertThat(this.terms.isClosed(led("1"))).isTrue();
		assertThat(span("1", 20100).to()).isEqualTo(Reports.at(5500));
		assertThat(overlap("1", "2")).isZero();
	}

	@Test
	void endsTermWithItsProcess() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		this.terms.ended(1, Reports.START.plusMillis(2000), false);
		see(2, 2200, 0.1, Reports.granted("2", 2100));
		assertThat(overlap("1", "2")).isZero();
		assertThat(span("1", 2200).reason()).isEqualTo("process ended");
		this.terms.ended(2, Reports.START.plusMillis(3000), true);
		assertThat(span("2", 3000).reason()).isEqualTo("killed while frozen");
		assertThat(this.terms.current()).isNull();
	}

	@Test
	void doesNotKnowOverlapOfNodeKilledBeforeItsReport() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		see(2, 7100, 0.1, Reports.granted("2", 7000));
		// Frozen, and killed right after its thaw
		this.terms.ended(1, Reports.START.plusMillis(9000), false);
		assertThat(overlap("1", "2")).isNull();
		assertThat(this.terms.isClosed(led("1"))).isTrue();
		assertThat(span("1", 9000)).isEqualTo(new DemoState.Span("1", "node-1", Reports.at(1000), Reports.at(3100),
				"process ended before it could report", true));
	}

	@Test
	void doesNotKnowOverlapOfNodeWithExpiredTrustBeforeItsRevocation() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		see(2, 7100, 0.1, Reports.granted("2", 7000));
		this.terms.seen("node-1", 1, Reports.reportWith("", 9000, NodeMetrics.NONE, Reports.granted("1", 1000)));
		assertThat(overlap("1", "2")).isNull();
		assertThat(span("1", 9000).provisional()).isTrue();
	}

	@Test
	void keepsOverlapWhenItsNodeIsKilled() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		see(2, 2100, 0.1, Reports.granted("2", 2000));
		see(1, 2500, 1.5, Reports.granted("1", 1000));
		this.terms.ended(1, Reports.START.plusMillis(2600), false);
		assertThat(overlap("1", "2")).isEqualTo(Duration.ofMillis(500));
		assertThat(span("1", 2700).to()).isEqualTo(Reports.at(2500));
		assertThat(span("1", 2700).provisional()).isFalse();
	}

	@Test
	void doesNotKnowEndOfNodeThawedAndKilledWithoutAnotherLeader() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		this.terms.ended(1, Reports.START.plusMillis(9000), false);
		assertThat(this.terms.isClosed(led("1"))).isTrue();
		assertThat(span("1", 9000).provisional()).isTrue();
		assertThat(span("1", 9000).to()).isEqualTo(Reports.at(3100));
	}

	@Test
	void ignoresLateReportOfEndedProcess() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		this.terms.ended(1, Reports.START.plusMillis(2000), false);
		see(1, 1900, 0.9, Reports.granted("1", 1000), Reports.granted("2", 1800));
		assertThat(this.terms.all()).hasSize(1);
		this.terms.started(1);
		see(1, 3100, 0.1, Reports.granted("3", 3000));
		assertThat(this.terms.current()).isSameAs(led("3"));
	}

	@Test
	void roundsOverlapUp() {
		see(1, 1100, 0.1, Reports.granted("1", 1000));
		see(2, 4100, 0.1, Reports.granted("2", 4000));
		see(1, 5100, 3.0000004, Reports.granted("1", 1000), Reports.revoked("1", 5000, "lease_expired"));
		assertThat(overlap("1", "2")).isPositive();
		assertThat(span("1", 5100).to()).isEqualTo(Reports.at(4001));
	}

	private void see(long pid, int millis, double led, String... transitions) {
		seeLate(pid, millis, 0, led, transitions);
	}

	private void seeLate(long pid, int millis, int late, double led, String... transitions) {
		NodeObservation report = Reports.report(millis, new NodeMetrics(0, 0, led), transitions);
		this.terms.seen("node-" + pid, pid, new NodeObservation(report.asked(), report.leadership(), report.answered(),
				report.metrics(), report.measured().plusMillis(late)));
	}

	private @Nullable Duration overlap(String term, String next) {
		assertThat(this.terms.after(led(term))).isSameAs(led(next));
		return this.terms.overlap(led(term), led(next));
	}

	private ObservedTerm led(String term) {
		List<ObservedTerm> all = this.terms.all();
		return all.stream().filter((led) -> led.term.equals(term)).findFirst().orElseThrow();
	}

	private DemoState.Span span(String term, int now) {
		return this.terms.spans(Reports.START.plusMillis(now))
			.stream()
			.filter((span) -> span.term().equals(term))
			.findFirst()
			.orElseThrow();
	}

}
