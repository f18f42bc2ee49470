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

import java.time.Instant;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Reports of nodes in tests, some milliseconds after a start.
 */
final class Reports {

	static final Instant START = Instant.parse("2026-11-21T07:00:00Z");

	private Reports() {
	}

	static NodeObservation report(int millis, NodeMetrics metrics, String... transitions) {
		return reportWith(leads(transitions), millis, metrics, transitions);
	}

	private static String leads(String... transitions) {
		String last = (transitions.length != 0) ? transitions[transitions.length - 1] : "{}";
		JsonNode transition = NodeClient.JSON.readTree(last);
		return transition.path("change").asString("").equals("granted") ? transition.path("term").asString() : "";
	}

	/**
	 * The report of a node that leads in the given term, or in none, independent of the
	 * transitions.
	 */
	static NodeObservation reportWith(String term, int millis, NodeMetrics metrics, String... transitions) {
		ObjectNode leadership = (ObjectNode) NodeClient.JSON
			.readTree("{ \"term\": \"" + term + "\", \"leaseRemaining\": \"PT2S\", \"lastConfirmation\": \""
					+ START.plusMillis(millis) + "\", \"transitions\": [" + String.join(",", transitions) + "] }");
		Instant at = START.plusMillis(millis);
		return new NodeObservation(at, leadership, at, metrics, at);
	}

	static String granted(String term, int millis) {
		return "{ \"change\": \"granted\", \"term\": \"" + term + "\", \"time\": \"" + START.plusMillis(millis)
				+ "\" }";
	}

	static String revoked(String term, int millis, String reason) {
		return "{ \"change\": \"revoked\", \"term\": \"" + term + "\", \"reason\": \"" + reason + "\", \"time\": \""
				+ START.plusMillis(millis) + "\" }";
	}

	static long at(int millis) {
		return START.plusMillis(millis).toEpochMilli();
	}

}
