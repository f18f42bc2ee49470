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

package io.leaderelection.sample.demo;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Terms}: that an overlap would be seen, and none is made up.
 */
class TermsTests {

	private static final Instant START = Instant.parse("2026-11-21T07:00:00Z");

	private final Terms terms = new Terms();

	@Test
	void seesNoOverlapOfOneTermAfterTheOther() {
		see(1, 0, granted("1", 1000));
		see(1, 3, granted("1", 1000), revoked("1", 4000, "resigned"));
		see(2, 0, granted("2", 4010));
		assertThat(overlap("1", "2")).isZero();
		assertThat(this.terms.current()).isSameAs(led("2"));
		assertThat(span("1")).isEqualTo(new DemoState.Span("1", "node-1", at(1000), at(4000), "resigned", false));
		assertThat(span("2")).isEqualTo(new DemoState.Span("2", "node-2", at(4010), null, null, false));
	}

	@Test
	void seesThatTwoLedAtOnce() {
		see(1, 0, granted("1", 1000));
		see(2, 0, granted("2", 3500));
		assertThat(overlap("1", "2")).isNull();
		see(1, 3, granted("1", 1000), revoked("1", 4000, "session_lost"));
		assertThat(overlap("1", "2")).isEqualTo(Duration.ofMillis(500));
	}

	@Test
	void believesFrozenNodeItsMetricsAndNotThatItNoticedLate() {
		see(1, 2, granted("1", 1000));
		see(2, 0, granted("2", 6000));
		assertThat(overlap("1", "2")).isNull();
		DemoState.Span provisional = span("1");
		assertThat(provisional.provisional()).isTrue();
		assertThat(provisional.to()).isEqualTo(at(5000));
		see(1, 4.5, granted("1", 1000), revoked("1", 20000, "lease_expired"));
		assertThat(overlap("1", "2")).isZero();
		assertThat(span("1").to()).isEqualTo(at(5500));
		assertThat(this.terms.noticed(led("1"))).isEqualTo(START.plusMillis(20000));
	}

	@Test
	void seesThatFrozenNodeBelievedTooLong() {
		see(1, 2, granted("1", 1000));
		see(2, 0, granted("2", 6000));
		see(1, 5.25, granted("1", 1000), revoked("1", 20000, "lease_expired"));
		assertThat(overlap("1", "2")).isEqualTo(Duration.ofMillis(250));
	}

	@Test
	void reckonsEarlierTermsOfProcessOffWhatItHasLed() {
		see(1, 2, granted("1", 1000), revoked("1", 3000, "resigned"));
		see(2, 0, granted("2", 3100), revoked("2", 4000, "resigned"));
		see(1, 2, granted("1", 1000), revoked("1", 3000, "resigned"), granted("3", 5000));
		see(2, 0, granted("2", 3100), revoked("2", 4000, "resigned"), granted("4", 9000));
		see(1, 5, granted("1", 1000), revoked("1", 3000, "resigned"), granted("3", 5000),
				revoked("3", 20000, "lease_expired"));
		assertThat(span("3").to()).isEqualTo(at(8000));
		assertThat(overlap("3", "4")).isZero();
	}

	@Test
	void endsTermWithItsProcess() {
		see(1, 0, granted("1", 1000));
		this.terms.ended(1, START.plusMillis(2000), false);
		see(2, 0, granted("2", 2100));
		assertThat(overlap("1", "2")).isZero();
		assertThat(span("1").reason()).isEqualTo("process ended");
		this.terms.ended(2, START.plusMillis(3000), true);
		assertThat(span("2").reason()).isEqualTo("killed while frozen");
		assertThat(this.terms.current()).isNull();
	}

	private void see(long pid, double led, String... transitions) {
		var leadership = NodeProbe.JSON
			.readTree("{ \"leaseRemaining\": \"PT2S\", \"transitions\": [" + String.join(",", transitions) + "] }");
		this.terms.seen("node-" + pid, pid, leadership, START.plusMillis(3000), new NodeMetrics(0, 0, led));
	}

	private static String granted(String term, int millis) {
		return "{ \"change\": \"granted\", \"term\": \"" + term + "\", \"time\": \"" + START.plusMillis(millis)
				+ "\" }";
	}

	private static String revoked(String term, int millis, String reason) {
		return "{ \"change\": \"revoked\", \"term\": \"" + term + "\", \"reason\": \"" + reason + "\", \"time\": \""
				+ START.plusMillis(millis) + "\" }";
	}

	private @Nullable Duration overlap(String term, String next) {
		assertThat(this.terms.after(led(term))).isSameAs(led(next));
		return this.terms.overlap(led(term), led(next));
	}

	private Terms.Led led(String term) {
		List<Terms.Led> all = this.terms.all();
		return all.stream().filter((led) -> led.term.equals(term)).findFirst().orElseThrow();
	}

	private DemoState.Span span(String term) {
		return this.terms.spans().stream().filter((span) -> span.term().equals(term)).findFirst().orElseThrow();
	}

	private static long at(int millis) {
		return START.plusMillis(millis).toEpochMilli();
	}

}
