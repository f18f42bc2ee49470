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
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * A connection of a client through a {@link TcpProxy}. Without a target it is mute.
 */
final class ProxyConnection {

	private final ProxyLoop loop;

	private final @Nullable SocketAddress target;

	private final SocketChannel client;

	private final SelectionKey clientKey;

	private final ProxyPipe toServer;

	private final ProxyPipe toClient;

	private @Nullable SocketChannel server;

	private @Nullable SelectionKey serverKey;

	private boolean forgotten;

	ProxyConnection(ProxyLoop loop, SocketChannel client, @Nullable SocketAddress target,
			Map<Direction, ProxyPipe.Link> links) throws IOException {
		this.loop = loop;
		this.target = target;
		this.client = client;
		this.toServer = new ProxyPipe(links.get(Direction.TO_SERVER));
		this.toClient = new ProxyPipe(links.get(Direction.TO_CLIENT));
		client.setOption(StandardSocketOptions.TCP_NODELAY, true);
		this.clientKey = loop.register(client, 0, this::clientReady);
		if (target == null) {
			this.toServer.cutAfter(0);
		}
	}

	ProxyPipe pipe(Direction direction) {
		return (direction == Direction.TO_SERVER) ? this.toServer : this.toClient;
	}

	boolean isOpen() {
		return this.client.isOpen();
	}

	/**
	 * Move bytes on.
	 * @return the nanoseconds after which there is more to do
	 */
	long work() {
		if (!isOpen()) {
			return Long.MAX_VALUE;
		}
		if (this.target == null) {
			if (this.toServer.hasEnded()) {
				close();
			}
			else {
				this.clientKey.interestOps(SelectionKey.OP_READ);
			}
			return Long.MAX_VALUE;
		}
		if (this.server == null && !this.toServer.isHeld()) {
			connect(this.target);
		}
		if (isConnected()) {
			write(this.toServer, this.server, this.toClient);
		}
		write(this.toClient, this.client, this.toServer);
		if (this.toServer.isFinished() && this.toClient.isFinished()) {
			close();
		}
		if (!isOpen()) {
			return Long.MAX_VALUE;
		}
		this.clientKey.interestOps(operations(this.toServer, this.toClient));
		if (!isConnected()) {
			return this.toClient.nextDue();
		}
		this.serverKey.interestOps(operations(this.toClient, this.toServer));
		return Math.min(this.toServer.nextDue(), this.toClient.nextDue());
	}

	void heal() {
		if (this.target == null || this.toServer.hasLost() || this.toClient.hasLost()) {
			reset();
		}
		else {
			this.toServer.restore();
			this.toClient.restore();
		}
	}

	void reset() {
		if (!isOpen()) {
			return;
		}
		try {
			this.client.setOption(StandardSocketOptions.SO_LINGER, 0);
			if (this.server != null && this.server.isOpen()) {
				this.server.setOption(StandardSocketOptions.SO_LINGER, 0);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		close();
	}

	/**
	 * Reset the side of the server, and the other one with the next bytes of the client.
	 */
	void resetServer() {
		if (!isConnected()) {
			return;
		}
		try {
			this.server.setOption(StandardSocketOptions.SO_LINGER, 0);
			this.server.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.forgotten = true;
	}

	void close() {
		try {
			this.client.close();
			if (this.server != null) {
				this.server.close();
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private boolean isConnected() {
		return this.server != null && this.server.isOpen() && this.server.isConnected();
	}

	private void connect(SocketAddress address) {
		try {
			this.server = SocketChannel.open();
			this.server.setOption(StandardSocketOptions.TCP_NODELAY, true);
			this.serverKey = this.loop.register(this.server, SelectionKey.OP_CONNECT, this::serverReady);
			this.server.connect(address);
		}
		catch (IOException ex) {
			serverIsAway();
		}
	}

	private void write(ProxyPipe pipe, SocketChannel to, ProxyPipe back) {
		if (!isOpen()) {
			return;
		}
		switch (pipe.write(to)) {
			case BROKEN -> back.end(true);
			case RESET -> reset();
			case WRITTEN -> {
			}
		}
	}

	private void clientReady(SelectionKey key) {
		if (!key.isReadable()) {
			return;
		}
		if (this.forgotten) {
			reset();
			return;
		}
		this.toServer.read(this.client);
	}

	private void serverReady(SelectionKey key) {
		try {
			if (key.isConnectable()) {
				this.server.finishConnect();
			}
			else if (key.isReadable()) {
				this.toClient.read(this.server);
			}
		}
		catch (IOException ex) {
			serverIsAway();
		}
	}

	private void serverIsAway() {
		this.toServer.abandon();
		this.toClient.end(true);
	}

	private static int operations(ProxyPipe reading, ProxyPipe writing) {
		return (reading.wantsToRead() ? SelectionKey.OP_READ : 0)
				| (writing.waitsForRoom() ? SelectionKey.OP_WRITE : 0);
	}

}
