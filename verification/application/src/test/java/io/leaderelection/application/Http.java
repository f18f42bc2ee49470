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
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Requests to one application.
 */
class Http {

	private static final HttpClient client = HttpClient.newHttpClient();

	private final int port;

	Http(int port) {
		this.port = port;
	}

	Answer get(String path) {
		return send(request(path).GET());
	}

	Answer post(String path) {
		return send(post(request(path)));
	}

	/**
	 * Send a body that is an empty object.
	 */
	Answer postJson(String path) {
		return send(request(path).header("Content-Type", "application/json").POST(BodyPublishers.ofString("{}")));
	}

	/**
	 * Send a request that is not answered for a while.
	 */
	CompletableFuture<Answer> postAndGoOn(String path) {
		return client.sendAsync(post(request(path)).build(), BodyHandlers.ofString()).thenApply(Answer::of);
	}

	private HttpRequest.Builder request(String path) {
		return HttpRequest.newBuilder(URI.create("http://localhost:" + this.port + path))
			.timeout(Duration.ofSeconds(60));
	}

	private static HttpRequest.Builder post(HttpRequest.Builder request) {
		return request.POST(BodyPublishers.noBody());
	}

	private static Answer send(HttpRequest.Builder request) {
		try {
			return Answer.of(client.send(request.build(), BodyHandlers.ofString()));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * An answer.
	 *
	 * @param status the status of HTTP
	 * @param body the body
	 */
	record Answer(int status, String body) {

		private static final JsonMapper json = new JsonMapper();

		static Answer of(HttpResponse<String> response) {
			return new Answer(response.statusCode(), response.body());
		}

		/**
		 * Return what is at the given JSON pointer.
		 */
		JsonNode at(String pointer) {
			return json.readTree(this.body).at(pointer);
		}

		/**
		 * Return the text or number at the given JSON pointer, {@code null} if there is
		 * none.
		 */
		@Nullable String text(String pointer) {
			JsonNode value = at(pointer);
			return value.isValueNode() ? value.asString() : null;
		}

		/**
		 * Return the texts of an array, or one field of each of its elements.
		 */
		List<String> texts(String pointer, String... field) {
			return at(pointer).valueStream()
				.map((element) -> (field.length > 0) ? element.path(field[0]) : element)
				.map(JsonNode::asString)
				.toList();
		}

	}

}
