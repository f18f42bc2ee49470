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

package io.leaderelection.autoconfigure.metrics;

import java.util.List;

import io.leaderelection.autoconfigure.metrics.PromQl.LabelMatcher;
import io.leaderelection.autoconfigure.metrics.PromQl.Selector;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link PromQl}.
 */
@Tag("ring1")
class PromQlTests {

	@Test
	void findsMetricsAndLabels() {
		PromQl expression = PromQl.parse("sum by (job, election) (rate(first_total{kind=\"a\", "
				+ "reason=~\"b|c\"}[$__rate_interval])) / max_over_time((second and third == 1)[5m:]) > 0.5");
		assertThat(expression.selectors()).containsExactly(
				new Selector("first_total", List.of(new LabelMatcher("kind", "a"), new LabelMatcher("reason", "b|c"))),
				new Selector("second", List.of()), new Selector("third", List.of()));
		assertThat(expression.groupingLabels()).containsExactlyInAnyOrder("job", "election");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "sum(metric", "metric)", "summ(metric)", "sum by job (metric)", "sum by (job) metric",
			"metric{label}", "metric{label=value}", "metric{label=\"a\"", "metric{label=\"a\" other=\"b\"}",
			"metric ? 1", "{label=\"a\"}", "1 > 0" })
	void refusesWhatItDoesNotKnow(String expression) {
		assertThatIllegalArgumentException().isThrownBy(() -> PromQl.parse(expression));
	}

}
