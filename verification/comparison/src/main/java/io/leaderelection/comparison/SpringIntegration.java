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

package io.leaderelection.comparison;

import java.time.Duration;

import javax.sql.DataSource;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

/**
 * Spring Integration's initiator on its JDBC lock registry.
 *
 * @see <a href=
 * "https://docs.spring.io/spring-integration/reference/leadership-event-handling.html">Leadership
 * Event Handling</a>
 * @see <a href=
 * "https://docs.spring.io/spring-integration/reference/jdbc/lock-registry.html">JDBC Lock
 * Registry</a>
 */
@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class })
class SpringIntegration {

	@Bean
	DefaultLockRepository lockRepository(DataSource dataSource) {
		return new DefaultLockRepository(dataSource);
	}

	@Bean
	JdbcLockRegistry lockRegistry(DefaultLockRepository repository, @Value("${ttl}") Duration ttl,
			@Value("${idle-between-tries}") Duration idleBetweenTries) {
		JdbcLockRegistry registry = new JdbcLockRegistry(repository, ttl);
		registry.setIdleBetweenTries(idleBetweenTries);
		return registry;
	}

	@Bean
	LockRegistryLeaderInitiator leaderInitiator(JdbcLockRegistry registry, @Value("${node}") String node,
			@Value("${election}") String election, @Value("${heart-beat}") Duration heartBeat,
			@Value("${busy-wait}") Duration busyWait) {
		LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(registry,
				new DefaultCandidate(node, election));
		initiator.setHeartBeatMillis(heartBeat.toMillis());
		initiator.setBusyWaitMillis(busyWait.toMillis());
		return initiator;
	}

	@Bean
	Adapter adapter(LockRegistryLeaderInitiator initiator) {
		return () -> initiator.getContext().isLeader();
	}

}
