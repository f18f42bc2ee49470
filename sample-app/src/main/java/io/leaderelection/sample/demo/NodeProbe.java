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

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Asks a node, again and again, what any monitoring could ask: the endpoint
 * {@code leadership}, metrics and health.
 */
class NodeProbe {

	static final JsonMapper JSON = new JsonMapper();

	private static final HttpClient CLIENT = HttpClient.newBuilder()
		.version(HttpClient.Version.HTTP_1_1)
		.connectTimeout(Duration.ofSeconds(1))
		.build();

	private static final int INTERVAL = 100;

	private static final Duration SHOWN = Duration.ofSeconds(60);

	private final NodeProcess node;

	private final Terms terms;

	private final Deque<Instant> ticks = new ArrayDeque<>();

	private volatile NodeView view = NodeView.NONE;

	NodeProbe(NodeProcess node, Terms terms) {
		this.node = node;
		this.terms = terms;
		Proxy.start("demo-probe-" + node.name(), () -> repeat(this::poll, INTERVAL));
		Proxy.start("demo-health-" + node.name(), () -> repeat(this::pollHealth, 5 * INTERVAL));
	}

	private static void repeat(Runnable task, int interval) {
		while (true) {
			task.run();
			Pause.millis(interval);
		}
	}

	NodeView view() {
		return this.view;
	}

	/**
	 * When the job of all nodes ran here in the last minute, to the interval of the looks
	 * at its counter.
	 */
	List<Instant> allTicks() {
		synchronized (this.ticks) {
			Instant first = Instant.now().minus(SHOWN);
			while (!this.ticks.isEmpty() && this.ticks.getFirst().isBefore(first)) {
				this.ticks.removeFirst();
			}
			return List.copyOf(this.ticks);
		}
	}

	private void poll() {
		long pid = this.node.pid();
		try {
			this.node.findPort();
			ObjectNode leadership = (ObjectNode) JSON.readTree(get("/actuator/leadership/default", 1));
			Instant seen = Instant.now();
			NodeMetrics metrics = NodeMetrics.parse(get(NodeMetrics.PATH, 1));
			NodeView last = this.view;
			if (pid != this.node.pid()) {
				return;
			}
			this.node.answered();
			// With the metrics of right after: what they say of the last term is final
			this.terms.seen(this.node.name(), pid, leadership, seen, metrics);
			this.view = new NodeView(pid, leadership, seen, metrics, last.health(), false);
			if (last.pid() == pid) {
				tick(metrics.allTicks() - last.metrics().allTicks(), seen);
			}
		}
		catch (IOException | RuntimeException ex) {
			this.view = this.view.asStale();
		}
	}

	private void tick(long count, Instant at) {
		synchronized (this.ticks) {
			for (long i = 0; i < count; i++) {
				this.ticks.addLast(at);
			}
		}
	}

	private void pollHealth() {
		String health = null;
		try {
			health = JSON.readTree(get("/actuator/health", 3)).path("status").asString(null);
		}
		catch (IOException | RuntimeException ex) {
			// No answer
		}
		this.view = this.view.withHealth(health);
	}

	private String get(String path, int seconds) throws IOException {
		return send(HttpRequest.newBuilder(uri(path)), seconds);
	}

	/**
	 * Ask this node to resign if it leads.
	 * @return the refusal, {@code null} if the leader was asked
	 */
	@Nullable String resign() throws IOException {
		HttpRequest.Builder post = HttpRequest.newBuilder(uri("/actuator/leadership/default/" + this.node.name()))
			.POST(HttpRequest.BodyPublishers.noBody());
		var answer = JSON.readTree(send(post, 3));
		return "requested".equals(answer.path("status").asString("")) ? null
				: answer.path("reason").asString("refused");
	}

	private URI uri(String path) throws IOException {
		String url = this.node.url();
		NodeProcess.State state = this.node.state();
		if (url == null || state == NodeProcess.State.DEAD || state == NodeProcess.State.FROZEN) {
			throw new IOException(this.node.name() + " does not answer");
		}
		return URI.create(url + path);
	}

	private static String send(HttpRequest.Builder request, int seconds) throws IOException {
		try {
			return CLIENT
				.send(request.timeout(Duration.ofSeconds(seconds)).build(), HttpResponse.BodyHandlers.ofString())
				.body();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IOException(ex);
		}
	}

}
