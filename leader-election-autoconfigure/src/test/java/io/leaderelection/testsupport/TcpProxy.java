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
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A proxy between a node and the server that can fall silent like a network that is cut:
 * bytes vanish, connections stay open.
 */
public final class TcpProxy implements AutoCloseable {

	private final ServerSocket listener;

	private final String targetHost;

	private final int targetPort;

	private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

	private volatile boolean blackHole;

	public TcpProxy(PostgreSqlServer server) {
		this(server.host(), server.port());
	}

	public TcpProxy(String targetHost, int targetPort) {
		this.targetHost = targetHost;
		this.targetPort = targetPort;
		try {
			this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		start("accept", this::accept);
	}

	public int port() {
		return this.listener.getLocalPort();
	}

	/**
	 * Let all bytes vanish from now on, in both directions.
	 */
	public void blackHole() {
		this.blackHole = true;
	}

	/**
	 * Forward again. Connections from before have lost bytes and are reset.
	 */
	public void heal() {
		this.blackHole = false;
		reset();
	}

	/**
	 * Close all connections.
	 */
	public void reset() {
		this.sockets.forEach(TcpProxy::close);
		this.sockets.clear();
	}

	@Override
	public void close() {
		try {
			this.listener.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		reset();
	}

	private void accept() {
		while (!this.listener.isClosed()) {
			try {
				Socket client = this.listener.accept();
				Socket server = new Socket(this.targetHost, this.targetPort);
				client.setTcpNoDelay(true);
				server.setTcpNoDelay(true);
				this.sockets.add(client);
				this.sockets.add(server);
				start("to server", () -> forward(client, server));
				start("to client", () -> forward(server, client));
			}
			catch (IOException ex) {
				// The listener was closed, or the server is away: the client sees a reset
				continue;
			}
		}
	}

	private void forward(Socket from, Socket to) {
		byte[] buffer = new byte[8192];
		try {
			InputStream in = from.getInputStream();
			OutputStream out = to.getOutputStream();
			int length = in.read(buffer);
			while (length >= 0) {
				if (!this.blackHole) {
					out.write(buffer, 0, length);
				}
				length = in.read(buffer);
			}
		}
		catch (IOException ex) {
			// One side has gone: so does the other, below
		}
		if (!this.blackHole) {
			close(from);
			close(to);
			this.sockets.remove(from);
			this.sockets.remove(to);
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

	private static void start(String name, Runnable task) {
		Thread thread = new Thread(task, "tcp-proxy " + name);
		thread.setDaemon(true);
		thread.start();
	}

}
