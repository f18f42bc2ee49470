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

package io.leaderelection.kotlin

import io.leaderelection.LeaderElector
import io.leaderelection.NotLeaderException
import io.leaderelection.annotation.LeaderOnly
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy.REJECT
import io.leaderelection.test.AutoConfigureTestLeadership
import io.leaderelection.test.TestLeadership
import kotlinx.coroutines.CompletableDeferred
import org.assertj.core.api.Assertions.assertThat
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.Test
import org.springframework.beans.factory.annotation.Autowired
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.boot.test.context.SpringBootTest
import org.springframework.boot.test.web.server.LocalServerPort
import org.springframework.context.annotation.Configuration
import org.springframework.context.annotation.Import
import org.springframework.http.HttpStatus
import org.springframework.web.bind.annotation.ExceptionHandler
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.ResponseStatus
import org.springframework.web.bind.annotation.RestController
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import org.junit.jupiter.api.Tag

/**
 * Suspend functions that requests to a web application call.
 */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@AutoConfigureTestLeadership
@Tag("ring2")
class SuspendOverHttpTests(@LocalServerPort private val port: Int,
		@param:Autowired private val leadership: TestLeadership, @param:Autowired private val elector: LeaderElector) {

	@Test
	fun runsOnTheLeaderOnly() {
		assertThat(get("/text")).isEqualTo("200 skipped")
		assertThat(get("/number")).isEqualTo("409 rejected")
		this.leadership.grant()
		assertThat(get("/text")).isEqualTo("200 report")
		assertThat(get("/number")).isEqualTo("200 42")
	}

	@Test
	fun handOverWaitsForWhatARequestAsksFor() {
		this.leadership.grant()
		val request = CompletableFuture.supplyAsync { get("/long") }
		await().until { get("/started") == "200 true" }
		val handOver = CompletableFuture.runAsync { this.leadership.revoke() }
		await().until { !this.elector.isLeader }
		assertThat(get("/text")).isEqualTo("200 skipped")
		assertThat(handOver).isNotDone()
		assertThat(request).isNotDone()
		get("/finish")
		assertThat(request).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo("200 booked")
		assertThat(handOver).succeedsWithin(10, TimeUnit.SECONDS)
	}

	private fun get(path: String): String {
		val request = HttpRequest.newBuilder(URI.create("http://localhost:$port$path")).build()
		val response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString())
		return "${response.statusCode()} ${response.body()}"
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(ReportController::class, Reports::class)
	open class Application

	@RestController
	class ReportController(private val reports: Reports) {

		@GetMapping("/text")
		suspend fun text() = this.reports.text() ?: "skipped"

		@GetMapping("/number")
		suspend fun number() = this.reports.number().toString()

		@GetMapping("/long")
		suspend fun long() = this.reports.long()

		@GetMapping("/started")
		fun started() = this.reports.started().toString()

		@GetMapping("/finish")
		fun finish() = this.reports.finish().toString()

		@ExceptionHandler
		@ResponseStatus(HttpStatus.CONFLICT)
		fun rejected(ex: NotLeaderException) = "rejected"

	}

	open class Reports {

		private val end = CompletableDeferred<String>()

		@Volatile
		private var started = false

		@LeaderOnly
		open suspend fun text(): String? = "report"

		@LeaderOnly(policy = REJECT)
		open suspend fun number() = 42

		@LeaderOnly
		open suspend fun long(): String? {
			this.started = true
			return this.end.await()
		}

		open fun started() = this.started

		open fun finish() = this.end.complete("booked")

	}

}
