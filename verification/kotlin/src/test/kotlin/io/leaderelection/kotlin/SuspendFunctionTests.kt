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
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration
import io.leaderelection.schedule.Claim
import io.leaderelection.schedule.DurableSchedule
import io.leaderelection.schedule.DurableSchedules
import io.leaderelection.schedule.FireTime
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.reactor.ReactorContext
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatExceptionOfType
import org.assertj.core.api.Assertions.assertThatIllegalStateException
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.Test
import org.springframework.boot.autoconfigure.AutoConfigurations
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration
import org.springframework.boot.test.context.runner.ApplicationContextRunner
import org.springframework.context.annotation.Configuration
import org.springframework.scheduling.annotation.EnableScheduling
import org.springframework.scheduling.annotation.Scheduled
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor
import java.time.Clock
import java.time.Instant
import java.time.ZoneOffset
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeoutException
import java.util.concurrent.atomic.AtomicInteger
import org.junit.jupiter.api.Tag

/**
 * Tests for suspend functions and flows that are guarded.
 */
@Tag("ring2")
class SuspendFunctionTests {

	private val leader = contextRunner(true)

	private val follower = contextRunner(false)

	private fun contextRunner(leads: Boolean) = ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration::class.java, DurableScheduleAutoConfiguration::class.java,
				AopAutoConfiguration::class.java))
		.withPropertyValues("spring.application.name=test", "leader-election.mode=always",
				"leader-election.candidate=$leads")
		.withBean(Jobs::class.java)

	@Test
	fun leaderRunsSuspendFunction() {
		this.leader.run { context ->
			val jobs = context.getBean(Jobs::class.java)
			runBlocking {
				assertThat(jobs.text("a")).isEqualTo("text a")
				jobs.nothing()
				assertThat(jobs.rejected()).isEqualTo(42)
				assertThat(jobs.flow().toList()).containsExactly(1, 2, 3)
				assertThat(jobs.suspendedFlow().toList()).containsExactly(1, 2, 3)
			}
			assertThat(jobs.calls()).isEqualTo(5)
		}
	}

	@Test
	fun followerSkipsOrRejects() {
		this.follower.run { context ->
			val jobs = context.getBean(Jobs::class.java)
			runBlocking {
				assertThat(jobs.text("a")).isNull()
				jobs.nothing()
				assertThat(jobs.flow().toList()).isEmpty()
				assertThat(jobs.suspendedFlow().toList()).isEmpty()
			}
			assertThatExceptionOfType(NotLeaderException::class.java).isThrownBy { runBlocking { jobs.rejected() } }
				.withMessageContaining("rejected(Continuation)' runs only on the leader of election 'default'")
			assertThat(jobs.calls()).isZero()
		}
	}

	@Test
	fun handOverWaitsForSuspendFunction() {
		this.leader.run { context ->
			val jobs = context.getBean(Jobs::class.java)
			val elector = context.getBean(LeaderElector::class.java)
			val end = CompletableDeferred<String>()
			runBlocking(Dispatchers.Default) {
				val running = async { jobs.until(end) }
				await().until { jobs.calls() == 1 }
				val handOver = elector.resign()
				assertWaits(handOver)
				end.complete("end")
				assertThat(handOver).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(true)
				assertThat(running.await()).isEqualTo("end")
			}
		}
	}

	@Test
	fun innerWorkRunsWhileTheTermOfTheOuterIsHandedOver() {
		this.leader.withBean(OuterJobs::class.java).run { context ->
			val outer = context.getBean(OuterJobs::class.java)
			val elector = context.getBean(LeaderElector::class.java)
			val end = CompletableDeferred<String>()
			runBlocking(Dispatchers.Default) {
				val running = async { outer.after(end) }
				await().until { outer.calls() == 1 }
				val handOver = elector.resign()
				assertThat(elector.isLeader).isFalse()
				assertThat(context.getBean(Jobs::class.java).text("other")).isNull()
				end.complete("end")
				assertThat(running.await()).isEqualTo("text end")
				assertThat(handOver).succeedsWithin(10, TimeUnit.SECONDS).isEqualTo(true)
			}
		}
	}

	@Test
	fun drainTimeoutCancelsSuspendFunction() {
		this.leader.withPropertyValues("leader-election.drain-timeout=100ms").run { context ->
			val jobs = context.getBean(Jobs::class.java)
			runBlocking(Dispatchers.Default) {
				val running = async { runCatching { jobs.forEver() } }
				await().until { jobs.calls() == 1 }
				assertThat(context.getBean(LeaderElector::class.java).resign()).succeedsWithin(10, TimeUnit.SECONDS)
				assertThat(running.await().exceptionOrNull()).isInstanceOf(NotLeaderException::class.java)
					.hasMessageContaining("has been cancelled")
				await().until { jobs.cancellations() == 1 }
			}
		}
	}

	@Test
	fun scheduledSuspendFunctionIsCheckedAtEachTick() {
		for ((runner, runs) in mapOf(this.leader to 2, this.follower to 0)) {
			runner.withUserConfiguration(Scheduling::class.java).withBean(ScheduledJobs::class.java).run { context ->
				repeat(2) {
					context.getBean(ScheduledAnnotationBeanPostProcessor::class.java).scheduledTasks
						.forEach { it.task.runnable.run() }
				}
				assertThat(context.getBean(ScheduledJobs::class.java).runs()).isEqualTo(runs)
			}
		}
	}

	@Test
	fun suspendFunctionRunsOnGrant() {
		this.leader.withBean(GrantedJobs::class.java).run { context ->
			val jobs = context.getBean(GrantedJobs::class.java)
			await().until { jobs.runs() == 1 }
		}
	}

	@Test
	fun durableSuspendFunctionClaimsEachFire() {
		this.leader.withBean(DurableJobs::class.java).run { context ->
			val jobs = context.getBean(DurableJobs::class.java)
			val schedules = context.getBean(DurableSchedules::class.java)
			schedules.begin(Clock.fixed(Instant.parse("2026-05-01T12:00:00Z"), ZoneOffset.UTC))
			schedules.setClock(Clock.fixed(Instant.parse("2026-05-02T02:00:00Z"), ZoneOffset.UTC))
			assertThatIllegalStateException().isThrownBy { runBlocking { jobs.job() } }
			runBlocking {
				jobs.job()
				jobs.job()
			}
			assertThat(jobs.runs()).containsOnly("2026-05-02T02:00:00Z").hasSize(2)
		}
	}

	@Test
	fun durableSuspendFunctionInTransactionIsRefused() {
		this.leader.withBean(DurableJobsInTransaction::class.java).run { context ->
			assertThat(context.startupFailure).rootCause().hasMessageContaining("claim = BEFORE")
		}
	}

	@Test
	fun primitiveResultOfSuspendFunctionIsRefused() {
		this.leader.withBean(PrimitiveJobs::class.java).run { context ->
			assertThat(context.startupFailure).hasRootCauseMessage("Method '${PrimitiveJobs::class.java.name}"
					+ ".count(Continuation)' is guarded by @LeaderOnly, but returns the primitive type 'int', which has no "
					+ "value for a skipped call. Return the wrapper type (null if skipped) or an Optional, or "
					+ "use @LeaderOnly(policy = REJECT).")
		}
	}

	private fun assertWaits(handOver: CompletableFuture<Boolean>) {
		assertThatExceptionOfType(TimeoutException::class.java)
			.isThrownBy { handOver.get(100, TimeUnit.MILLISECONDS) }
	}

	open class Jobs {

		private val calls = AtomicInteger()

		private val cancellations = AtomicInteger()

		@LeaderOnly
		open suspend fun text(argument: String): String? {
			delay(1)
			this.calls.incrementAndGet()
			return "text $argument"
		}

		@LeaderOnly
		open suspend fun nothing() {
			this.calls.incrementAndGet()
		}

		@LeaderOnly(policy = REJECT)
		open suspend fun rejected(): Int {
			return 37 + this.calls.incrementAndGet() + 2
		}

		@LeaderOnly
		open fun flow(): Flow<Int> {
			this.calls.incrementAndGet()
			return flowOf(1, 2, 3)
		}

		@LeaderOnly
		open suspend fun suspendedFlow(): Flow<Int> {
			delay(1)
			this.calls.incrementAndGet()
			return flowOf(1, 2, 3)
		}

		@LeaderOnly
		open suspend fun until(end: CompletableDeferred<String>): String? {
			this.calls.incrementAndGet()
			return end.await()
		}

		@LeaderOnly
		open suspend fun forEver() {
			this.calls.incrementAndGet()
			try {
				awaitCancellation()
			}
			finally {
				this.cancellations.incrementAndGet()
			}
		}

		open fun calls() = this.calls.get()

		open fun cancellations() = this.cancellations.get()

	}

	open class OuterJobs(private val jobs: Jobs) {

		private val calls = AtomicInteger()

		@LeaderOnly
		open suspend fun after(end: CompletableDeferred<String>): String? {
			this.calls.incrementAndGet()
			val argument = end.await()
			return withContext(Dispatchers.IO) { jobs.text(argument) }
		}

		open fun calls() = this.calls.get()

	}

	open class ScheduledJobs {

		private val runs = AtomicInteger()

		@LeaderOnly
		@Scheduled(initialDelay = 1, fixedDelay = 1, timeUnit = TimeUnit.HOURS)
		open suspend fun job() {
			delay(1)
			this.runs.incrementAndGet()
		}

		open fun runs() = this.runs.get()

	}

	open class GrantedJobs {

		private val runs = AtomicInteger()

		@LeaderOnly(runOnGrant = true)
		open suspend fun job() {
			delay(1)
			this.runs.incrementAndGet()
		}

		open fun runs() = this.runs.get()

	}

	open class DurableJobs {

		private val runs = CopyOnWriteArrayList<String>()

		@LeaderOnly
		@DurableSchedule(claim = Claim.AFTER)
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		open suspend fun job() {
			val fire: FireTime = currentCoroutineContext()[ReactorContext]!!.context.get(FireTime::class.java)
			this.runs.add(fire.nominalTime.toString())
			delay(1)
			check(this.runs.size > 1)
		}

		open fun runs(): List<String> = this.runs

	}

	open class DurableJobsInTransaction {

		@LeaderOnly
		@DurableSchedule
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		open suspend fun job() {
		}

	}

	open class PrimitiveJobs {

		@LeaderOnly
		open suspend fun count(): Int = 42

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	open class Scheduling

}
