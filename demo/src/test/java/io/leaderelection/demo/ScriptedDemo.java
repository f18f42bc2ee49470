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
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.jspecify.annotations.Nullable;

import org.springframework.http.MediaTypeFactory;

/**
 * The page of the demo without a cluster: it shows the state that a test gives it, also
 * one that a cluster must never be in. By default, there are three nodes without a
 * leader.
 */
final class ScriptedDemo implements AutoCloseable {

	private final HttpServer server;

	private final ExecutorService executor = Executors.newCachedThreadPool();

	private volatile Map<String, Object> state = Map.of();

	ScriptedDemo() throws IOException {
		this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		this.server.setExecutor(this.executor);
		this.server.createContext("/", ScriptedDemo::file);
		this.server.createContext("/api/stream", this::stream);
		this.server.start();
	}

	String url() {
		return "http://localhost:" + this.server.getAddress().getPort() + "/";
	}

	/**
	 * Show this state, with defaults for what it does not contain.
	 */
	void show(Map<String, Object> given) {
		long now = System.currentTimeMillis();
		Map<String, Object> state = new LinkedHashMap<>(Map.of("run", "1", "store", "advisory-lock", "lease", "PT5S",
				"trust", "PT3.75S", "silence", "PT5.25S", "ticks", List.of(), "terms", List.of(), "faults", List.of(),
				"rows", rows(now, now + 600_000, 0, 0)));
		state.put("nodes", List.of(node("node-1"), node("node-2"), node("node-3")));
		state.putAll(given);
		this.state = state;
	}

	private static Map<String, Object> node(String name) {
		return Map.of("name", name, "pid", 1, "process", "running", "cut", false, "leaderTicks", 0, "allTicks", 0);
	}

	static Map<String, Object> term(String term, String node, long from, @Nullable Long to, boolean provisional) {
		Map<String, Object> result = new LinkedHashMap<>(
				Map.of("term", term, "node", node, "from", from, "provisional", provisional));
		result.put("to", to);
		return result;
	}

	static Map<String, Object> rows(long at, long next, long duplicates, long outdated) {
		return rows(at, next, duplicates, outdated, fires(at, 0, 0));
	}

	static Map<String, Object> rows(long at, long next, long duplicates, long outdated, Map<String, Object> durable) {
		return Map.of("at", at, "next", next, "count", 10, "duplicates", duplicates, "outdated", outdated, "durable",
				durable, "plain", fires(at, 2, 3));
	}

	/**
	 * The fires of a job of which the last was at a time.
	 */
	static Map<String, Object> fires(long last, long doubles, long holes) {
		return Map.of("count", 60 + doubles - holes, "doubles", doubles, "holes", holes, "first", last - 59_000, "last",
				last);
	}

	private void stream(HttpExchange exchange) throws IOException {
		exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
		exchange.sendResponseHeaders(200, 0);
		try (OutputStream out = exchange.getResponseBody()) {
			while (!this.executor.isShutdown()) {
				Map<String, Object> state = new LinkedHashMap<>(this.state);
				state.put("now", System.currentTimeMillis());
				out.write(("data: " + NodeClient.JSON.writeValueAsString(state) + "\n\n")
					.getBytes(StandardCharsets.UTF_8));
				out.flush();
				Background.pause(100);
			}
		}
	}

	private static void file(HttpExchange exchange) throws IOException {
		String path = exchange.getRequestURI().getPath();
		String name = path.equals("/") ? "index.html" : path.substring(1);
		try (exchange;
				InputStream in = Objects.requireNonNull(ScriptedDemo.class.getResourceAsStream("/demo/" + name))) {
			exchange.getResponseHeaders()
				.set("Content-Type", MediaTypeFactory.getMediaType(name).orElseThrow().toString());
			exchange.sendResponseHeaders(200, 0);
			in.transferTo(exchange.getResponseBody());
		}
	}

	@Override
	public void close() {
		this.executor.shutdownNow();
		this.server.stop(0);
	}

}
