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
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

import org.springframework.util.FileSystemUtils;

/**
 * A ZooKeeper in this JVM.
 */
final class ZooKeeperBackend implements Backend {

	private final Path directory;

	private final ZooKeeperServer server;

	private final ServerCnxnFactory connections;

	ZooKeeperBackend(List<String> options) throws Exception {
		this.directory = Files.createTempDirectory("leader-election-zookeeper");
		String tickTime = Candidate.withPrefix(options, "tick-time=").get(0);
		this.server = new ZooKeeperServer(this.directory.toFile(), this.directory.toFile(), Integer.parseInt(tickTime));
		this.server.setMaxSessionTimeout(60_000);
		// As many clients of one address as there are
		this.connections = ServerCnxnFactory.createFactory(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
				0);
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
	public void close() {
		this.connections.shutdown();
		try {
			FileSystemUtils.deleteRecursively(this.directory);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
