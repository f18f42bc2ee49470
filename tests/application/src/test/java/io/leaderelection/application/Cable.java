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

package io.leaderelection.application;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The way from an application to the database, which a test cuts.
 */
final class Cable implements AutoCloseable {

	private final ServerSocket entry;

	private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

	private volatile boolean cut;

	Cable() {
		try {
			this.entry = new ServerSocket(0, 50, InetAddress.getByName("localhost"));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		run(this::accept);
	}

	String url() {
		return Database.url(this.entry.getLocalPort(), "postgres");
	}

	void cut() {
		this.cut = true;
		this.sockets.forEach(Cable::close);
	}

	void mend() {
		this.cut = false;
	}

	@Override
	public void close() {
		cut();
		close(this.entry);
	}

	private void accept() throws IOException {
		while (true) {
			Socket client = open(this.entry.accept());
			Socket server = open(new Socket("localhost", Database.port()));
			run(() -> pump(client, server));
			run(() -> pump(server, client));
		}
	}

	private Socket open(Socket socket) throws IOException {
		this.sockets.add(socket);
		if (this.cut) {
			socket.close();
		}
		return socket;
	}

	private static void pump(Socket from, Socket to) throws IOException {
		try (from; to) {
			from.getInputStream().transferTo(to.getOutputStream());
		}
	}

	private static void run(Pump pump) {
		Thread thread = new Thread(() -> {
			try {
				pump.run();
			}
			catch (IOException ex) {
				// Cut, or ended by one of both sides
			}
		});
		thread.setDaemon(true);
		thread.start();
	}

	private static void close(AutoCloseable closeable) {
		try {
			closeable.close();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * What a thread does.
	 */
	private interface Pump {

		void run() throws IOException;

	}

}
