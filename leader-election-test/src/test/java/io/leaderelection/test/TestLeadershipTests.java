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

package io.leaderelection.test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link TestLeadership}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(60)
@Tag("ring1")
class TestLeadershipTests {

	private final ApplicationContextRunner notControlled = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(LeaderElectionAutoConfiguration.class, TestLeadershipAutoConfiguration.class))
		.withBean(Listener.class)
		.withPropertyValues("leader-election.mode=always");

	private final ApplicationContextRunner contextRunner = this.notControlled
		.withPropertyValues("leader-election-test.role=follower");

	@Test
	void isThereIfTheTestHasARole() {
		this.contextRunner.run((context) -> assertThat(context).hasSingleBean(TestLeadership.class));
		this.notControlled.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(TestLeadership.class));
	}

	@ParameterizedTest
	@CsvSource({ "leader-election.candidate=true, always leads", "leader-election.candidate=false, never leads",
			"leader-election-test.role=follower, leads when a test grants leadership" })
	void startLogsThatThereIsNoElection(String property, String leads, CapturedOutput output) {
		this.notControlled.withPropertyValues(property)
			.run((context) -> assertThat(output)
				.containsOnlyOnce("No election takes place, this node " + leads + " (leader-election.mode=always)"));
	}

	@Test
	void startLogsWhichElectionsAreNotLed(CapturedOutput output) {
		this.notControlled.withPropertyValues("leader-election.elections.reports.candidate=false")
			.run((context) -> assertThat(output)
				.containsOnlyOnce("this node always leads, but not the elections [reports]"));
	}

	@Test
	void schedulesNeedTheirArtifact() {
		ApplicationContextRunner runner = this.contextRunner
			.withConfiguration(AutoConfigurations.of(DurableScheduleAutoConfiguration.class));
		runner.run((context) -> assertThat(context).hasSingleBean(TestSchedules.class));
		runner.withClassLoader(new FilteredClassLoader("io.leaderelection.schedule"))
			.run((context) -> assertThat(context).hasSingleBean(TestLeadership.class)
				.doesNotHaveBean(TestSchedules.class));
	}

	@Test
	void nodeDoesNotLeadUntilGrantedAndNeedsNoDatabase() {
		this.contextRunner.run((context) -> {
			assertThat(context).doesNotHaveBean(DataSource.class);
			assertThat(elector(context).isLeader()).isFalse();
			leadership(context).grant();
			assertThat(elector(context).isLeader()).isTrue();
			assertThat(elector(context).runIfLeader(() -> {
			})).isTrue();
			assertThat(log(context)).containsExactly("granted");
			leadership(context).grant();
			assertThat(log(context)).hasSize(1);
		});
	}

	@ParameterizedTest
	@EnumSource(names = "STOPPED", mode = EnumSource.Mode.EXCLUDE)
	void revokes(Reason reason) {
		this.contextRunner.run((context) -> {
			for (int i = 0; i < 3; i++) {
				leadership(context).grant();
				leadership(context).revoke(reason);
				assertThat(elector(context).isLeader()).isFalse();
				leadership(context).revoke(reason);
			}
			assertThat(log(context)).containsExactly("granted", reason.name(), "granted", reason.name(), "granted",
					reason.name());
		});
	}

	@Test
	void termsIncrease() {
		this.contextRunner.run((context) -> {
			leadership(context).grant();
			var first = elector(context).getLeadership().getTerm();
			leadership(context).revoke();
			leadership(context).grant();
			assertThat(elector(context).getLeadership().getTerm()).isGreaterThan(first);
		});
	}

	@Test
	void leadsFromTheStartIfConfigured() {
		this.contextRunner.withPropertyValues("leader-election-test.role=leader").run((context) -> {
			assertThat(elector(context).isLeader()).isTrue();
			leadership(context).revoke();
			assertThat(elector(context).isLeader()).isFalse();
			leadership(context).reset();
			assertThat(elector(context).isLeader()).isTrue();
		});
	}

	@Test
	void orderlyRevokeWaitsForWorkAndLossInterruptsIt() {
		this.contextRunner.run((context) -> {
			leadership(context).grant();
			CountDownLatch end = new CountDownLatch(1);
			CompletableFuture<String> work = work(context, end);
			CompletableFuture<Void> revoking = CompletableFuture.runAsync(leadership(context)::revoke);
			await().until(() -> !elector(context).isLeader());
			assertThat(revoking).isNotDone();
			end.countDown();
			revoking.get(10, TimeUnit.SECONDS);
			assertThat(work.get(10, TimeUnit.SECONDS)).isEqualTo("ended");
			leadership(context).grant();
			work = work(context, new CountDownLatch(1));
			leadership(context).revoke(Reason.LEASE_EXPIRED);
			assertThat(work.get(10, TimeUnit.SECONDS)).isEqualTo("interrupted");
		});
	}

	@Test
	void nodeThatResignsDoesNotLeadAgainUntilGranted() {
		this.contextRunner.run((context) -> {
			leadership(context).grant();
			assertThat(elector(context).resign().get(10, TimeUnit.SECONDS)).isTrue();
			assertThat(elector(context).awaitLeadership(Duration.ofMillis(300))).isFalse();
			leadership(context).grant();
			assertThat(elector(context).isLeader()).isTrue();
		});
	}

	@Test
	void pausedNodeIsNotGrantedAndLeadsAgainAfterTheRestart() {
		this.contextRunner.run((context) -> {
			leadership(context).grant();
			context.getSourceApplicationContext().pause();
			assertThat(elector(context).isLeader()).isFalse();
			assertThatExceptionOfType(IllegalStateException.class).isThrownBy(leadership(context)::grant)
				.withMessageEndingWith("it is not running");
			context.getSourceApplicationContext().restart();
			assertThat(elector(context).isLeader()).isTrue();
		});
	}

	@Test
	void electionsAreGrantedOneByOne() {
		this.contextRunner
			.withPropertyValues("leader-election.elections.reports.candidate=true",
					"leader-election.elections.observed.candidate=false")
			.run((context) -> {
				LeaderElectors electors = context.getBean(LeaderElectors.class);
				leadership(context).grant("reports");
				assertThat(electors.get("reports").isLeader()).isTrue();
				assertThat(electors.getDefault().isLeader()).isFalse();
				leadership(context).grant();
				leadership(context).revoke("reports", Reason.SESSION_LOST);
				assertThat(electors.get("reports").isLeader()).isFalse();
				assertThat(electors.getDefault().isLeader()).isTrue();
				assertThatExceptionOfType(IllegalArgumentException.class)
					.isThrownBy(() -> leadership(context).grant("unknown"))
					.withMessageContaining("There is no election 'unknown'");
				assertThatExceptionOfType(IllegalStateException.class)
					.isThrownBy(() -> leadership(context).grant("observed"))
					.withMessageEndingWith("it is not a candidate");
			});
	}

	@Test
	void stoppingIsForTheContext() {
		this.contextRunner.run((context) -> {
			leadership(context).grant();
			assertThatExceptionOfType(IllegalArgumentException.class)
				.isThrownBy(() -> leadership(context).revoke(Reason.STOPPED));
			assertThat(elector(context).isLeader()).isTrue();
		});
	}

	private static CompletableFuture<String> work(AssertableApplicationContext context, CountDownLatch end)
			throws InterruptedException {
		CountDownLatch begun = new CountDownLatch(1);
		CompletableFuture<String> result = new CompletableFuture<>();
		Thread thread = new Thread(() -> elector(context).runIfLeader(() -> {
			begun.countDown();
			try {
				end.await();
				result.complete("ended");
			}
			catch (InterruptedException ex) {
				result.complete("interrupted");
			}
		}));
		thread.start();
		assertThat(begun.await(10, TimeUnit.SECONDS)).isTrue();
		return result;
	}

	private static LeaderElector elector(AssertableApplicationContext context) {
		return context.getBean(LeaderElector.class);
	}

	private static TestLeadership leadership(AssertableApplicationContext context) {
		return context.getBean(TestLeadership.class);
	}

	private static List<String> log(AssertableApplicationContext context) {
		return context.getBean(Listener.class).log;
	}

	static class Listener {

		final List<String> log = Collections.synchronizedList(new ArrayList<>());

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			this.log.add("granted");
		}

		@EventListener
		void revoked(LeadershipRevokedEvent event) {
			this.log.add(event.getReason().name());
		}

	}

}
