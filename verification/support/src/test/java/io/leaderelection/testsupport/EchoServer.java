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

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * A server that answers each byte with the same byte.
 */
final class EchoServer implements AutoCloseable {

	private final ServerSocket listener;

	private final ByteArrayOutputStream received = new ByteArrayOutputStream();

	private final Set<Socket> open = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

	private volatile String lastEnd = "none";

	EchoServer() {
		try {
			this.listener = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		Daemon.start("echo", this::accept);
	}

	int port() {
		return this.listener.getLocalPort();
	}

	/**
	 * All that has arrived so far.
	 */
	String received() {
		return this.received.toString(StandardCharsets.UTF_8);
	}

	/**
	 * The number of connections that the clients have not ended.
	 */
	int connections() {
		return this.open.size();
	}

	/**
	 * How the last connection that has ended did: {@code end}, or the message of the
	 * exception.
	 */
	String lastEnd() {
		return this.lastEnd;
	}

	void endConnections() throws IOException {
		for (Socket socket : this.open.toArray(Socket[]::new)) {
			socket.shutdownOutput();
		}
	}

	@Override
	public void close() throws IOException {
		this.listener.close();
		for (Socket socket : this.open.toArray(Socket[]::new)) {
			socket.close();
		}
	}

	private void accept() {
		try {
			while (true) {
				Socket socket = this.listener.accept();
				this.open.add(socket);
				Daemon.start("echo", () -> answer(socket));
			}
		}
		catch (IOException ex) {
			// Closed
		}
	}

	private void answer(Socket socket) {
		byte[] buffer = new byte[64 * 1024];
		try (socket) {
			for (int length = 0; length >= 0; length = socket.getInputStream().read(buffer)) {
				this.received.write(buffer, 0, length);
				socket.getOutputStream().write(buffer, 0, length);
			}
			this.lastEnd = "end";
		}
		catch (IOException ex) {
			this.lastEnd = ex.getMessage();
		}
		this.open.remove(socket);
	}

}
