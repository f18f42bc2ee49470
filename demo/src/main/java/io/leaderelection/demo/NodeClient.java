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
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Asks the endpoints of a node. Waits a second for an answer, or three where a node that
 * is cut off needs them.
 */
class NodeClient {

	static final JsonMapper JSON = new JsonMapper();

	private static final HttpClient CLIENT = HttpClient.newBuilder()
		.version(HttpClient.Version.HTTP_1_1)
		.connectTimeout(Duration.ofSeconds(1))
		.build();

	private final NodeProcess node;

	NodeClient(NodeProcess node) {
		this.node = node;
	}

	ObjectNode leadership() throws IOException {
		return (ObjectNode) JSON.readTree(send(get("/actuator/leadership/default"), 1, 200));
	}

	NodeMetrics metrics() throws IOException {
		// An execution that was never counted has no meter yet
		return new NodeMetrics(
				(long) metric("leader.election.invocations?tag=method:DemoWork.tick&tag=outcome:run", 200, 404),
				(long) metric("tasks.scheduled.execution?tag=code.function:everywhere", 200, 404),
				metric("leader.election.time", 200));
	}

	private double metric(String name, Integer... expected) throws IOException {
		JsonNode metric = JSON.readTree(send(get("/actuator/metrics/" + name), 1, expected));
		return metric.path("measurements").path(0).path("value").asDouble(0);
	}

	@Nullable String health() throws IOException {
		return JSON.readTree(send(get("/actuator/health"), 3, 200, 503)).path("status").asString(null);
	}

	/**
	 * Ask this node to resign if it leads.
	 * @return the refusal, {@code null} if the leader was asked
	 */
	@Nullable String resign() throws IOException {
		JsonNode answer = JSON.readTree(send(
				request("/actuator/leadership/default/" + this.node.name()).POST(HttpRequest.BodyPublishers.noBody()),
				3, 200));
		return "requested".equals(answer.path("status").asString("")) ? null
				: answer.path("reason").asString("refused");
	}

	private HttpRequest.Builder get(String path) throws IOException {
		return request(path).GET();
	}

	private HttpRequest.Builder request(String path) throws IOException {
		String url = this.node.url();
		ProcessState state = this.node.state();
		if (url == null || state == ProcessState.DEAD || state == ProcessState.FROZEN) {
			throw new IOException(this.node.name() + " does not answer");
		}
		return HttpRequest.newBuilder(URI.create(url + path));
	}

	private static String send(HttpRequest.Builder request, int seconds, Integer... expected) throws IOException {
		try {
			HttpResponse<String> response = CLIENT.send(request.timeout(Duration.ofSeconds(seconds)).build(),
					HttpResponse.BodyHandlers.ofString());
			if (!Set.of(expected).contains(response.statusCode())) {
				throw new IOException(response.uri() + " answers with status " + response.statusCode());
			}
			return response.body();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IOException(ex);
		}
	}

}
