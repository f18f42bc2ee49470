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

package io.leaderelection.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * A proxy between a client and the server that behaves like a bad network. What a method
 * asks for holds as soon as the method has returned.
 */
public final class TcpProxy implements AutoCloseable {

	private static final int BACKLOG = 1024;

	private final SocketAddress target;

	private final ServerSocketChannel listener;

	private final ProxyLoop loop;

	private final Map<Direction, ProxyPipe.Link> links = new EnumMap<>(Direction.class);

	private final Set<ProxyConnection> connections = new LinkedHashSet<>();

	private final Map<Direction, Integer> cuts = new EnumMap<>(Direction.class);

	private Welcome welcome = Welcome.FORWARD;

	public TcpProxy(PostgreSqlServer server) {
		this(server.host(), server.port());
	}

	public TcpProxy(String targetHost, int targetPort) {
		this.target = new InetSocketAddress(targetHost, targetPort);
		for (Direction direction : Direction.values()) {
			this.links.put(direction, new ProxyPipe.Link());
		}
		try {
			this.listener = ServerSocketChannel.open();
			this.listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), BACKLOG);
			this.loop = new ProxyLoop(this::work);
			this.loop.register(this.listener, SelectionKey.OP_ACCEPT, (key) -> accept());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.loop.start();
	}

	public int port() {
		return this.listener.socket().getLocalPort();
	}

	/**
	 * The number of connections that the proxy has open to clients.
	 */
	public int connections() {
		int[] result = new int[1];
		execute(() -> result[0] = (int) this.connections.stream().filter(ProxyConnection::isOpen).count());
		return result[0];
	}

	/**
	 * Let all bytes and ends of connections vanish from now on, in both directions. New
	 * connections are accepted and stay silent.
	 */
	public void blackHole() {
		blackHole(Direction.values());
	}

	/**
	 * Let all bytes and ends of connections vanish that go in this direction. New
	 * connections do not get to the server if it is the direction to the server.
	 */
	public void blackHole(Direction direction) {
		blackHole(new Direction[] { direction });
	}

	/**
	 * Keep all bytes and ends of connections, in both directions, until
	 * {@link #release()}.
	 */
	public void hold() {
		hold(Direction.values());
	}

	/**
	 * Keep all bytes and ends of connections that go in this direction until
	 * {@link #release()}.
	 */
	public void hold(Direction direction) {
		hold(new Direction[] { direction });
	}

	/**
	 * Deliver what was held, in order, and hold nothing from now on.
	 */
	public void release() {
		execute(() -> this.links.values().forEach((link) -> link.held = false));
	}

	/**
	 * Let all bytes arrive later, those under way too. {@link Duration#ZERO} ends it.
	 */
	public void delay(Duration toServer, Duration toClient) {
		execute(() -> {
			this.links.get(Direction.TO_SERVER).delay = toServer.toNanos();
			this.links.get(Direction.TO_CLIENT).delay = toClient.toNanos();
		});
	}

	/**
	 * On each connection that is open now, let the next bytes in this direction pass and
	 * everything after them vanish, until {@link #heal()}.
	 */
	public void cutInMessage(Direction direction, int bytes) {
		forEach((connection) -> connection.pipe(direction).cutAfter(bytes));
	}

	/**
	 * The same on each connection that is made from now on.
	 */
	public void cutInNewConnections(Direction direction, int bytes) {
		this.loop.execute(() -> this.cuts.put(direction, bytes));
	}

	/**
	 * Accept new connections, but never forward or answer anything on them. Connections
	 * from before go on.
	 */
	public void acceptWithoutAnswer() {
		execute(() -> this.welcome = Welcome.MUTE);
	}

	/**
	 * Reset new connections at once. Connections from before go on.
	 */
	public void refuse() {
		execute(() -> this.welcome = Welcome.REFUSE);
	}

	/**
	 * Forward again, and deliver what was held. Connections that have lost something, or
	 * never got an answer, are reset; the others go on. A delay stays.
	 */
	public void heal() {
		execute(() -> {
			this.welcome = Welcome.FORWARD;
			this.cuts.clear();
			for (ProxyPipe.Link link : this.links.values()) {
				link.blackHole = false;
				link.held = false;
			}
			List.copyOf(this.connections).forEach(ProxyConnection::heal);
		});
	}

	/**
	 * Reset all connections, towards both the client and the server.
	 */
	public void reset() {
		forEach(ProxyConnection::reset);
	}

	/**
	 * Reset all connections, towards the server only. The client notices when it sends
	 * something.
	 */
	public void resetServer() {
		forEach(ProxyConnection::resetServer);
	}

	@Override
	public void close() {
		this.loop.end(() -> {
			this.listener.close();
			List.copyOf(this.connections).forEach(ProxyConnection::close);
		});
	}

	private void blackHole(Direction[] directions) {
		execute(() -> {
			for (Direction direction : directions) {
				this.links.get(direction).blackHole = true;
				this.connections.forEach((connection) -> connection.pipe(direction).loseAll());
			}
		});
	}

	private void hold(Direction[] directions) {
		execute(() -> {
			for (Direction direction : directions) {
				this.links.get(direction).held = true;
			}
		});
	}

	private void forEach(Consumer<ProxyConnection> action) {
		execute(() -> List.copyOf(this.connections).forEach(action));
	}

	private void execute(ProxyLoop.Command command) {
		this.loop.execute(() -> {
			// What the client has opened before is a connection from before
			accept();
			command.run();
		});
	}

	private void accept() throws IOException {
		for (SocketChannel client = this.listener.accept(); client != null; client = this.listener.accept()) {
			try {
				welcome(client);
			}
			catch (IOException ex) {
				// The client has gone already
				client.close();
			}
		}
	}

	private void welcome(SocketChannel client) throws IOException {
		if (this.welcome == Welcome.REFUSE) {
			client.setOption(StandardSocketOptions.SO_LINGER, 0);
			client.close();
			return;
		}
		boolean mute = this.welcome == Welcome.MUTE || this.links.get(Direction.TO_SERVER).blackHole;
		ProxyConnection connection = new ProxyConnection(this.loop, client, mute ? null : this.target, this.links);
		this.cuts.forEach((direction, bytes) -> connection.pipe(direction).cutAfter(bytes));
		this.connections.add(connection);
	}

	private long work() {
		long wait = Long.MAX_VALUE;
		for (ProxyConnection connection : this.connections) {
			wait = Math.min(wait, connection.work());
		}
		this.connections.removeIf((connection) -> !connection.isOpen());
		return wait;
	}

	private enum Welcome {

		FORWARD, MUTE, REFUSE

	}

}
