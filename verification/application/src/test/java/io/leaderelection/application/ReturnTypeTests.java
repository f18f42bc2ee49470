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

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.context.annotation.Import;
import org.springframework.http.HttpStatus;
import org.springframework.scheduling.annotation.Async;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Guarded methods of every result type, called by requests to the leader and to a
 * follower.
 */
@Tag("ring2")
class ReturnTypeTests {

	@AutoClose
	private static final Nodes nodes = new Nodes(ReportController.class);

	private static Node leader;

	private static Node follower;

	@BeforeAll
	static void startNodes() {
		List<Node> two = nodes.startTwo();
		leader = two.get(0);
		follower = two.get(1);
	}

	@ParameterizedTest
	@CsvSource({ "nothing, done, done", "text, report, null", "optional, report, none", "future, report, null",
			"async, report, null", "mono, report, none", "flux, '[re, port]', []", "number, 42, rejected",
			"future-or-reject, report, rejected", "mono-or-reject, report, rejected",
			"flux-or-reject, '[re, port]', rejected" })
	void runsOnTheLeaderAndNotOnAFollower(String type, String onLeader, String onFollower) {
		int before = runs(leader);
		assertThat(leader.get("/reports/" + type).body()).isEqualTo(onLeader);
		assertThat(runs(leader)).isEqualTo(before + 1);
		Http.Answer answer = follower.get("/reports/" + type);
		assertThat(answer.body()).isEqualTo(onFollower);
		assertThat(answer.status()).isEqualTo(onFollower.equals("rejected") ? 409 : 200);
		assertThat(runs(follower)).isZero();
	}

	private static int runs(Node node) {
		return Integer.parseInt(node.get("/reports/runs").body());
	}

	/**
	 * Asks for reports.
	 */
	@RestController
	@Import(Reports.class)
	static class ReportController {

		private final Reports reports;

		ReportController(Reports reports) {
			this.reports = reports;
		}

		@GetMapping("/reports/{type}")
		Object report(@PathVariable String type) {
			return switch (type) {
				case "runs" -> String.valueOf(this.reports.runs());
				case "nothing" -> {
					this.reports.nothing();
					yield "done";
				}
				case "text" -> String.valueOf(this.reports.text());
				case "optional" -> this.reports.optional().orElse("none");
				case "future" -> this.reports.future().thenApply(String::valueOf);
				case "async" -> this.reports.async().thenApply(String::valueOf);
				case "mono" -> this.reports.mono().defaultIfEmpty("none");
				case "flux" -> this.reports.flux().collectList().map(String::valueOf);
				case "number" -> String.valueOf(this.reports.number());
				case "future-or-reject" -> this.reports.futureOrReject();
				case "mono-or-reject" -> this.reports.monoOrReject();
				case "flux-or-reject" -> this.reports.fluxOrReject().collectList().map(String::valueOf);
				default -> throw new IllegalArgumentException(type);
			};
		}

		@ExceptionHandler
		@ResponseStatus(HttpStatus.CONFLICT)
		String rejected(NotLeaderException ex) {
			return "rejected";
		}

	}

	/**
	 * Guarded methods.
	 */
	@Component
	static class Reports {

		private final AtomicInteger runs = new AtomicInteger();

		int runs() {
			return this.runs.get();
		}

		@LeaderOnly
		void nothing() {
			this.runs.incrementAndGet();
		}

		@LeaderOnly
		String text() {
			this.runs.incrementAndGet();
			return "report";
		}

		@LeaderOnly
		Optional<String> optional() {
			return Optional.of(text());
		}

		@LeaderOnly
		CompletableFuture<String> future() {
			return CompletableFuture.supplyAsync(this::text);
		}

		@Async
		@LeaderOnly
		CompletableFuture<String> async() {
			return CompletableFuture.completedFuture(text());
		}

		@LeaderOnly
		Mono<String> mono() {
			return Mono.fromSupplier(this::text);
		}

		@LeaderOnly
		Flux<String> flux() {
			return Flux.just("re", "port").doFirst(this.runs::incrementAndGet);
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		int number() {
			this.runs.incrementAndGet();
			return 42;
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		CompletableFuture<String> futureOrReject() {
			return future();
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		Mono<String> monoOrReject() {
			return mono();
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		Flux<String> fluxOrReject() {
			return flux();
		}

	}

}
