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

import org.awaitility.Awaitility;
import tools.jackson.databind.JsonNode;

import org.springframework.web.client.RestClient;

/**
 * What the demo and its nodes report, to compare with what the page shows.
 */
record DemoFacts(DemoRun demo) {

	/**
	 * Take back what was done to the nodes, and wait until all run, follow one leader,
	 * and report all others as candidates.
	 */
	void recover() throws IOException, InterruptedException {
		for (JsonNode node : nodes()) {
			String path = "/" + name(node);
			if (node.path("process").asString("").equals("frozen")) {
				this.demo.post(path + "/thaw");
			}
			if (node.path("process").asString("").equals("dead")) {
				this.demo.post(path + "/start");
			}
			if (node.path("cut").asBoolean(false)) {
				this.demo.post(path + "/reconnect");
			}
		}
		Awaitility.await().atMost(DemoPage.LATER).until(this::isSettled);
	}

	private boolean isSettled() throws IOException, InterruptedException {
		List<JsonNode> nodes = nodes();
		return nodes.stream().allMatch((node) -> isSound(node, nodes.size()))
				&& nodes.stream()
					.map((node) -> node.path("leadership").path("leader").path("node"))
					.distinct()
					.count() == 1
				&& nodes.stream()
					.filter((node) -> node.path("leadership").path("role").asString("").equals("leader"))
					.count() == 1;
	}

	private static boolean isSound(JsonNode node, int nodes) {
		JsonNode leadership = node.path("leadership");
		return node.path("process").asString("").equals("running") && !node.path("cut").asBoolean()
				&& leadership.path("candidates").size() == nodes && !leadership.has("stale");
	}

	List<JsonNode> nodes() throws IOException, InterruptedException {
		return this.demo.state().path("nodes").valueStream().toList();
	}

	static String name(JsonNode node) {
		return node.path("name").asString("");
	}

	/**
	 * What the actuator of a node answers, when asked directly.
	 */
	static JsonNode actuator(JsonNode node, String path) {
		return NodeClient.JSON.readTree(RestClient.create(node.path("url").asString(""))
			.get()
			.uri("/actuator/" + path)
			.retrieve()
			.body(String.class));
	}

	JsonNode rows() throws IOException, InterruptedException {
		return this.demo.state().path("rows");
	}

	/**
	 * The number of what was done last.
	 */
	int lastFault() throws IOException, InterruptedException {
		return this.demo.state().path("faults").path(0).path("id").asInt(0);
	}

	/**
	 * What came of a fault, once all of it is known.
	 */
	JsonNode awaitOutcome(int id) {
		return Awaitility.await()
			.atMost(DemoPage.LATER)
			.until(() -> outcome(id), (outcome) -> outcome.path("complete").asBoolean(false));
	}

	private JsonNode outcome(int id) throws IOException, InterruptedException {
		return this.demo.state()
			.path("faults")
			.valueStream()
			.filter((fault) -> fault.path("id").asInt() == id)
			.map((fault) -> fault.path("outcome"))
			.findFirst()
			.orElseThrow();
	}

}
