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

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.ExponentialBackoffRetry;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Curator's {@code LeaderLatch}.
 *
 * @see <a href= "https://curator.apache.org/docs/recipes-leader-latch">Leader Latch</a>
 */
@Configuration(proxyBeanMethods = false)
class Curator {

	@Bean(initMethod = "start", destroyMethod = "close")
	CuratorFramework client(@Value("${address}") String address, @Value("${session-timeout}") Duration sessionTimeout,
			@Value("${connection-timeout}") Duration connectionTimeout, @Value("${base-sleep}") Duration baseSleep) {
		return CuratorFrameworkFactory.newClient(address, (int) sessionTimeout.toMillis(),
				(int) connectionTimeout.toMillis(), new ExponentialBackoffRetry((int) baseSleep.toMillis(), 3));
	}

	@Bean(initMethod = "start", destroyMethod = "close")
	LeaderLatch leaderLatch(CuratorFramework client, @Value("${election}") String election,
			@Value("${node}") String node) {
		return new LeaderLatch(client, "/" + election, node);
	}

	@Bean
	Adapter adapter(LeaderLatch latch) {
		return latch::hasLeadership;
	}

}
