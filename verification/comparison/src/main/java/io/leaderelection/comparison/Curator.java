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

import org.springframework.core.env.Environment;

/**
 * Curator's {@code LeaderLatch}.
 *
 * @see <a href="https://curator.apache.org/docs/recipes-leader-latch">Leader Latch</a>
 */
final class Curator implements Adapter {

	private final CuratorFramework client;

	private final LeaderLatch latch;

	Curator(Environment options) throws Exception {
		this.client = CuratorFrameworkFactory.newClient(options.getRequiredProperty("address"),
				millis(options, "session-timeout"), millis(options, "connection-timeout"),
				new ExponentialBackoffRetry(millis(options, "base-sleep"), 3));
		this.client.start();
		this.latch = new LeaderLatch(this.client, "/" + options.getRequiredProperty("election"));
		this.latch.start();
	}

	private static int millis(Environment options, String name) {
		return (int) options.getRequiredProperty(name, Duration.class).toMillis();
	}

	@Override
	public boolean isLeader() {
		return this.latch.hasLeadership();
	}

	@Override
	public void close() throws Exception {
		this.latch.close();
		this.client.close();
	}

}
