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

import java.io.IOException;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * What the demo reads of the metrics of a node.
 *
 * @param leaderTicks how often the job of the leader ran
 * @param allTicks how often the job of all nodes ran
 * @param led for how many seconds the node has led
 */
record NodeMetrics(long leaderTicks, long allTicks, double led) {

	static final String PATH = "/actuator/prometheus?includedNames=leader_election_invocations"
			+ "&includedNames=leader_election_time_seconds&includedNames=tasks_scheduled_execution_seconds";

	private static final String LED = "leader_election_time_seconds_total";

	static final NodeMetrics NONE = new NodeMetrics(0, 0, 0);

	private static final Pattern SAMPLE = Pattern.compile("^(\\w+)\\{(.*)} (\\S+)$", Pattern.MULTILINE);

	/**
	 * Parse the metrics.
	 * @throws IOException if the time that the node has led is missing
	 */
	static NodeMetrics parse(String text) throws IOException {
		List<MatchResult> samples = SAMPLE.matcher(text).results().toList();
		if (samples.stream().noneMatch((sample) -> sample.group(1).equals(LED))) {
			throw new IOException("No " + LED + " among the metrics");
		}
		return new NodeMetrics(
				(long) sum(samples, "leader_election_invocations_total", "method=\"DemoWork.tick\"", "outcome=\"run\""),
				(long) sum(samples, "tasks_scheduled_execution_seconds_count", "code_function=\"everywhere\""),
				sum(samples, LED));
	}

	private static double sum(List<MatchResult> samples, String name, String... tags) {
		return samples.stream()
			.filter((sample) -> sample.group(1).equals(name)
					&& List.of(tags).stream().allMatch(sample.group(2)::contains))
			.mapToDouble((sample) -> Double.parseDouble(sample.group(3)))
			.sum();
	}

}
