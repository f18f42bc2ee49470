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

package io.leaderelection.documentation;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A node with {@code leader-election.store=table}, and the events that it has received.
 */
final class LeaseTableNode implements AutoCloseable {

	static final Duration LEASE = Duration.ofSeconds(2);

	private final List<LeadershipEvent> events = new CopyOnWriteArrayList<>();

	private final ConfigurableApplicationContext context;

	LeaseTableNode(String... properties) {
		this.context = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.properties(PostgreSqlServer.shared().dataSourceProperties())
			.properties("spring.main.banner-mode=off", "leader-election.store=table",
					"leader-election.lease-duration=" + LEASE)
			.listeners(ApplicationListener.<LeadershipEvent>forPayload(this.events::add))
			.run(Stream.of(properties).map((property) -> "--" + property).toArray(String[]::new));
	}

	<T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	DefaultLeaderElector elector() {
		return bean(DefaultLeaderElector.class);
	}

	/**
	 * Run a statement in a transaction, as the leader.
	 * @return whether this node led
	 */
	boolean runInTransaction(String sql) {
		TransactionTemplate transaction = new TransactionTemplate(bean(PlatformTransactionManager.class));
		return elector()
			.runIfLeader(() -> transaction.executeWithoutResult((status) -> bean(JdbcTemplate.class).execute(sql)));
	}

	/**
	 * The leader that this node has observed.
	 */
	@Nullable String leader() {
		return elector().status().leader();
	}

	LeaseTableNode awaitLeader() {
		Awaitility.await().until(elector()::isLeader);
		return this;
	}

	List<LeadershipEvent> events() {
		return List.copyOf(this.events);
	}

	/**
	 * Return an event, for which a listener may not have been called yet.
	 */
	LeadershipEvent awaitEvent(int number) {
		Awaitility.await().until(() -> this.events.size() > number);
		return this.events.get(number);
	}

	/**
	 * Wait until this node has led in a number of terms and lost them.
	 * @return why it lost them
	 */
	List<Reason> awaitRevocations(int count) {
		Awaitility.await().until(() -> reasons().size() >= count);
		return reasons();
	}

	private List<Reason> reasons() {
		return this.events.stream()
			.filter(LeadershipRevokedEvent.class::isInstance)
			.map((event) -> ((LeadershipRevokedEvent) event).getReason())
			.toList();
	}

	@Override
	public void close() {
		this.context.close();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

}
