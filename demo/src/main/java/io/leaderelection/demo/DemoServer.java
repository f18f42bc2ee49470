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
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import org.springframework.http.MediaType;
import org.springframework.http.MediaTypeFactory;

/**
 * Serves the page, what it shows and what its buttons do, to this machine only.
 */
class DemoServer {

	private static final int STREAM_INTERVAL = 250;

	private final HttpServer server;

	private volatile boolean stopped;

	/**
	 * Take the port. Nothing is served yet.
	 */
	DemoServer(int port) throws IOException {
		try {
			this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
		}
		catch (BindException ex) {
			throw new DemoException("Port " + port + " is taken, possibly by another demo. Use another port: --port="
					+ ((port < 65535) ? port + 1 : 8090) + ", or --port=0 for any that is free.");
		}
		this.server.setExecutor(Executors.newCachedThreadPool((task) -> Background.daemon("demo-http", task)));
	}

	String url() {
		return "http://localhost:" + this.server.getAddress().getPort();
	}

	void start(Cluster cluster) {
		this.server.createContext("/", (exchange) -> handle(exchange, cluster));
		this.server.start();
	}

	private void handle(HttpExchange exchange, Cluster cluster) throws IOException {
		try (exchange) {
			exchange.getResponseHeaders().set("Content-Security-Policy", "frame-ancestors 'none'");
			String request = exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath();
			if (!isSameOrigin(exchange)) {
				answer(exchange, 403, "Only for the page of the demo, from this machine");
			}
			else if (request.equals("GET /api/state")) {
				answer(exchange, 200, cluster.state());
			}
			else if (request.equals("GET /api/stream")) {
				stream(exchange, cluster);
			}
			else if (request.startsWith("POST /api/nodes")) {
				act(exchange, cluster, request.split("/", -1));
			}
			else if (request.startsWith("GET /")) {
				file(exchange, request.substring("GET /".length()));
			}
			else {
				answer(exchange, 405, "Not allowed: " + request);
			}
		}
		catch (RuntimeException ex) {
			ex.printStackTrace();
		}
	}

	/**
	 * No page from elsewhere may end processes here: browsers say where a request comes
	 * from, and by what name they reached this server.
	 */
	private boolean isSameOrigin(HttpExchange exchange) {
		int port = this.server.getAddress().getPort();
		List<String> hosts = List.of("localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port);
		String host = String.valueOf(exchange.getRequestHeaders().getFirst("Host"));
		String origin = exchange.getRequestHeaders().getFirst("Origin");
		return hosts.contains(host) && (origin == null || origin.equals("http://" + host));
	}

	private void act(HttpExchange exchange, Cluster cluster, String[] path) throws IOException {
		try {
			if (!path[2].equals("nodes") || (path.length != 3 && path.length != 5)) {
				answer(exchange, 404, "There is no such action");
				return;
			}
			answer(exchange, 202, (path.length == 3) ? cluster.addFurther() : cluster.act(path[3], Action.of(path[4])));
		}
		catch (RefusedException ex) {
			answer(exchange, 409, String.valueOf(ex.getMessage()));
		}
		catch (IOException ex) {
			answer(exchange, 409, "That failed: " + ex.getMessage());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void stream(HttpExchange exchange, Cluster cluster) throws IOException {
		exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
		exchange.getResponseHeaders().set("Cache-Control", "no-store");
		exchange.sendResponseHeaders(200, 0);
		OutputStream out = exchange.getResponseBody();
		while (!this.stopped) {
			String event = "data: " + NodeClient.JSON.writeValueAsString(cluster.state()) + "\n\n";
			out.write(event.getBytes(StandardCharsets.UTF_8));
			out.flush();
			Background.pause(STREAM_INTERVAL);
		}
	}

	private void file(HttpExchange exchange, String path) throws IOException {
		String name = path.isEmpty() ? "index.html" : path;
		try (InputStream in = name.contains("..") ? null : getClass().getResourceAsStream("/demo/" + name)) {
			if (in == null) {
				answer(exchange, 404, "There is no " + path);
				return;
			}
			String type = MediaTypeFactory.getMediaType(name).map(MediaType::toString).orElse("text/plain");
			send(exchange, 200, type + (type.startsWith("text/") ? ";charset=utf-8" : ""), in.readAllBytes());
		}
	}

	private static void answer(HttpExchange exchange, int status, String message) throws IOException {
		answer(exchange, status, Map.of("message", message));
	}

	private static void answer(HttpExchange exchange, int status, Object body) throws IOException {
		send(exchange, status, "application/json", NodeClient.JSON.writeValueAsBytes(body));
	}

	private static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
		exchange.getResponseHeaders().set("Content-Type", type);
		exchange.getResponseHeaders().set("Cache-Control", "no-store");
		exchange.sendResponseHeaders(status, (body.length != 0) ? body.length : -1);
		exchange.getResponseBody().write(body);
	}

	void stop() {
		this.stopped = true;
		this.server.stop(0);
	}

}
