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

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

import org.springframework.core.env.Environment;
import org.springframework.util.FileSystemUtils;

/**
 * Curator's {@code LeaderLatch}.
 */
final class Curator implements Adapter, AutoCloseable {

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

	/**
	 * A ZooKeeper in this JVM. It allows sessions of 2 to 20 ticks.
	 */
	static final class ZooKeeper implements Backend {

		private final Path directory;

		private final ZooKeeperServer server;

		private final ServerCnxnFactory connections;

		ZooKeeper(List<String> options) throws Exception {
			this.directory = Files.createTempDirectory("leader-election-zookeeper");
			String tickTime = Candidate.withPrefix(options, "tick-time=").get(0);
			this.server = new ZooKeeperServer(this.directory.toFile(), this.directory.toFile(),
					Integer.parseInt(tickTime));
			// As many clients of one address as there are
			this.connections = ServerCnxnFactory
				.createFactory(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
			this.connections.startup(this.server);
		}

		@Override
		public int port() {
			return this.connections.getLocalPort();
		}

		/**
		 * Ends the session of the latch that is first in the queue: that of the leader.
		 */
		@Override
		public void endSessions(int node, String election) throws Exception {
			DataTree tree = this.server.getZKDatabase().getDataTree();
			String first = tree.getChildren("/" + election, null, null)
				.stream()
				.min(Comparator.comparing((String name) -> name.substring(name.lastIndexOf('-'))))
				.orElseThrow();
			this.server.closeSession(tree.getNode("/" + election + "/" + first).stat.getEphemeralOwner());
		}

		@Override
		public Map<String, Double> counters() {
			return Map.of("requests", (double) this.server.serverStats().getPacketsReceived(), "connections",
					(double) this.server.getNumAliveConnections());
		}

		@Override
		public void close() throws IOException {
			this.connections.shutdown();
			FileSystemUtils.deleteRecursively(this.directory);
		}

	}

}
