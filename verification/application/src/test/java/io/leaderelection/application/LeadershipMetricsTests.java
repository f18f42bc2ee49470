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

package io.leaderelection.application;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import io.leaderelection.documentation.Markdown;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What Prometheus and {@code /actuator/metrics} get to see of a leader and a follower.
 */
@Tag("ring2")
class LeadershipMetricsTests {

	@AutoClose
	private final Nodes nodes = new Nodes(RunOverHttpTests.Reports.class, "leader-election.max-led=9",
			"leader-election.initialize-schema=always", "leader-election.table-name=leadership_metrics");

	@Test
	void everyDocumentedMetricIsThere() throws IOException {
		List<MatchResult> rows = Pattern.compile("^\\| `(leader\\.[a-z.]+)` \\| `(leader_\\w+)` \\|", Pattern.MULTILINE)
			.matcher(Files.readString(Markdown.ROOT.resolve("docs/reference/metrics-and-alerts.md")))
			.results()
			.toList();
		assertThat(rows).hasSize(20);
		for (Node node : this.nodes.startTwo()) {
			String scrape = node.get("/actuator/prometheus").body();
			assertThat(rows).allSatisfy((row) -> {
				assertThat(node.get("/actuator/metrics/" + row.group(1)).status()).isEqualTo(200);
				assertThat(scrape).containsPattern("(?m)^" + row.group(2) + "(_count)?[{ ]");
			});
		}
	}

}
