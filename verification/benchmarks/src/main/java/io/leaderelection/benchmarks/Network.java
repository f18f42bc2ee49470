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

package io.leaderelection.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The network between a node and its database. Once cut, it drops whatever either side
 * sends without closing a connection, and new connections get no answer.
 */
final class Network implements AutoCloseable {

	private final ServerSocket listener;

	private final int target;

	private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

	private volatile boolean cut;

	/**
	 * Create a new {@code Network} instance.
	 * @param target the port of the database on this machine
	 */
	Network(int target) {
		this.target = target;
		try {
			this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		FailoverNode.start(this::accept, "network");
	}

	int port() {
		return this.listener.getLocalPort();
	}

	void cut() {
		this.cut = true;
	}

	private void accept() {
		try {
			while (true) {
				Socket client = this.listener.accept();
				this.sockets.add(client);
				if (!this.cut) {
					Socket server = new Socket(InetAddress.getLoopbackAddress(), this.target);
					this.sockets.add(server);
					connect(client, server);
					connect(server, client);
				}
			}
		}
		catch (IOException ex) {
			close();
		}
	}

	private void connect(Socket from, Socket to) throws IOException {
		from.setTcpNoDelay(true);
		FailoverNode.start(() -> forward(from, to), "network connection");
	}

	private void forward(Socket from, Socket to) {
		byte[] buffer = new byte[8192];
		try {
			for (int length = from.getInputStream().read(buffer); length >= 0; length = from.getInputStream()
				.read(buffer)) {
				if (!this.cut) {
					to.getOutputStream().write(buffer, 0, length);
				}
			}
		}
		catch (IOException ex) {
			// The same as its end
		}
		if (!this.cut) {
			close(from);
			close(to);
		}
	}

	private static void close(Socket socket) {
		try {
			socket.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() {
		try {
			this.listener.close();
			this.sockets.forEach(Network::close);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
