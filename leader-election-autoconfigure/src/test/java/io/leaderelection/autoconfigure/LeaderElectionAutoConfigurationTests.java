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

package io.leaderelection.autoconfigure;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.Driver;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.scheduling.TaskScheduler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.mock;

/**
 * Tests for {@link LeaderElectionAutoConfiguration}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class LeaderElectionAutoConfigurationTests {

	private final ApplicationContextRunner election = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class));

	private final ApplicationContextRunner contextRunner = this.election
		.withPropertyValues("leader-election.mode=always");

	private final ApplicationContextRunner guarded = this.contextRunner.withBean(Guarded.class);

	@Test
	void leadsWithoutDataSourceWhenModeIsAlways() {
		this.contextRunner.run((context) -> {
			LeaderElector elector = context.getBean(LeaderElector.class);
			assertThat(elector.getElection()).isEqualTo("default");
			assertThat(elector.isLeader()).isTrue();
			assertThat(context).doesNotHaveBean(DataSource.class);
		});
	}

	@Test
	void warnsIfEachNodeLeadsBesideADatabase(CapturedOutput output) {
		String warning = "So does each other node, although a PostgreSQL database is configured";
		ApplicationContextRunner always = postgreSql().withPropertyValues("leader-election.mode=always");
		always.withPropertyValues("leader-election.candidate=false")
			.run((context) -> assertThat(context).hasNotFailed());
		always
			.withPropertyValues("spring.datasource.url=jdbc:mysql://localhost:1/shop",
					"spring.datasource.driver-class-name=" + Driver.class.getName())
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output).doesNotContain(warning);
		always.run((context) -> assertThat(output).contains("(leader-election.mode=always). " + warning));
	}

	@Test
	void neverLeadsWithoutADatabaseWhenItIsNoCandidate() {
		this.contextRunner.withPropertyValues("leader-election.mode=ALWAYS", "leader-election.candidate=false")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				LeaderElector elector = context.getBean(LeaderElector.class);
				assertThat(elector.isLeader()).isFalse();
				assertThat(elector.getLeader()).isNull();
			});
	}

	@Test
	void needsNeitherDriverNorJdbcWhenModeIsAlways() {
		this.contextRunner
			.withClassLoader(new FilteredClassLoader("org.postgresql", "org.springframework.boot.jdbc",
					"org.springframework.jdbc", "com.zaxxer.hikari", "io.leaderelection.postgresql"))
			.run((context) -> assertThat(context.getBean(LeaderElector.class).isLeader()).isTrue());
	}

	@Test
	void beansAreNamed() {
		this.contextRunner.run((context) -> assertThat(context).hasBean("leaderElector")
			.hasBean("leaderElectors")
			.hasBean("leaderElectionLifecycle")
			.hasSingleBean(LeaderElectors.class)
			.hasSingleBean(LeaderElector.class)
			.hasSingleBean(LeaderOnlyBeanPostProcessor.class));
	}

	/**
	 * They would switch off those of Spring Boot, and Spring Cloud Function would bind
	 * functions to destinations.
	 */
	@ParameterizedTest
	@ValueSource(classes = { DataSource.class, Executor.class, ScheduledExecutorService.class, TaskScheduler.class,
			Function.class, Consumer.class, Supplier.class })
	void registersNoBeanOfThisType(Class<?> type) {
		this.contextRunner.withPropertyValues("leader-election.elections.a.candidate=true")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(type));
	}

	@Test
	void registersNoDataSourceBesideThatOfTheApplication() {
		postgreSql()
			.run((context) -> assertThat(context.getBeanNamesForType(DataSource.class)).containsExactly("dataSource"));
	}

	@Test
	void namedElectionsAreInjectedByQualifier() {
		this.contextRunner.withBean(Injected.class)
			.withPropertyValues("leader-election.elections.reports.lease-duration=10s",
					"leader-election.elections.weekly-imports.candidate=false")
			.run((context) -> {
				Injected injected = context.getBean(Injected.class);
				assertThat(injected.unqualified().getElection()).isEqualTo("default");
				assertThat(injected.byDefaultName()).isSameAs(injected.unqualified());
				assertThat(injected.reports().getElection()).isEqualTo("reports");
				assertThat(injected.imports().getElection()).isEqualTo("weekly-imports");
				assertThat(injected.electors().getElections()).containsExactly("default", "reports", "weekly-imports");
				assertThat(injected.electors().get("reports")).isSameAs(injected.reports());
				assertThat(context.getBean("reportsLeaderElector")).isSameAs(injected.reports());
				assertThat(injected.reports().isLeader()).isTrue();
				assertThat(injected.imports().isLeader()).isFalse();
			});
	}

	@Test
	void electionMayHaveNothingButAName() {
		this.contextRunner.withPropertyValues("leader-election.lock-id=42", "leader-election.elections.reports=")
			.run((context) -> {
				assertThat(context.getBean(LeaderElectors.class).getElections()).containsExactly("default", "reports");
				assertThat(context.getBean(ElectionDefinitions.class).get("reports").lockId()).isNull();
			});
	}

	@Test
	void electionHasNoValue() {
		this.contextRunner.withPropertyValues("leader-election.elections.reports=daily")
			.run((context) -> assertThat(context).getFailure()
				.hasRootCauseMessage("An election has properties, not a value"));
	}

	@Test
	void defaultElectionIsNamedByProperty() {
		this.contextRunner.withPropertyValues("leader-election.name=schedulers").run((context) -> {
			assertThat(context.getBean(LeaderElector.class).getElection()).isEqualTo("schedulers");
			assertThat(context).hasBean("leaderElector");
		});
	}

	@Test
	void guardsAnnotatedBeansInEveryMode() {
		this.guarded.withPropertyValues("leader-election.candidate=false").run((context) -> {
			assertThat(AopUtils.isAopProxy(context.getBean(Guarded.class))).isTrue();
			assertThat(context.getBean(Guarded.class).work()).isNull();
		});
		this.guarded.run((context) -> assertThat(context.getBean(Guarded.class).work()).isEqualTo("worked"));
	}

	@Test
	void guardStaysWhenTheApplicationBringsItsOwnElectors() {
		this.guarded.withBean("myElector", LeaderElector.class, () -> mock(LeaderElector.class))
			.withPropertyValues("leader-election.candidate=false")
			.run((context) -> {
				assertThat(context).hasSingleBean(DefaultLeaderElectors.class);
				assertThat(context.getBean(Guarded.class).work()).isNull();
			});
	}

	@Test
	void somethingMustDefineTheGroup() {
		ApplicationContextRunner unnamed = postgreSql().withPropertyValues("spring.application.name=");
		unnamed.run((context) -> assertThat(context).getFailure()
			.rootCause()
			.isInstanceOf(InvalidUsageException.class)
			.hasMessageStartingWith("Neither leader-election.group nor spring.application.name is set"));
		unnamed.withPropertyValues("leader-election.group=shop").run((context) -> assertThat(context).hasNotFailed());
		unnamed.withPropertyValues("leader-election.lock-id=1").run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void warnsOfManyElections(CapturedOutput output) {
		String[] elections = Stream.iterate(1, (i) -> i + 1)
			.limit(10)
			.map((i) -> "leader-election.elections.e" + i + ".candidate=true")
			.toArray(String[]::new);
		postgreSql().withPropertyValues(elections)
			.run((context) -> assertThat(output)
				.contains("There are 11 elections, so the leader and each standby of all of them keep 11 connections"));
	}

	private ApplicationContextRunner postgreSql() {
		return this.election.withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
			.withPropertyValues("spring.datasource.url=jdbc:postgresql://localhost:1/unreachable",
					"spring.application.name=shop");
	}

	static class Guarded {

		@LeaderOnly
		String work() {
			return "worked";
		}

	}

	record Injected(LeaderElector unqualified, @Qualifier("default") LeaderElector byDefaultName,
			@Qualifier("reports") LeaderElector reports, @Qualifier("weekly-imports") LeaderElector imports,
			LeaderElectors electors) {
	}

}
