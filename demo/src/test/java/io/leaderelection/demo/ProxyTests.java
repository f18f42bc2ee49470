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

package io.leaderelection.demo;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link Proxy}, in front of a server that answers with what it is sent.
 */
@Tag("ring1")
class ProxyTests {

	private static final int SILENCE = 300;

	private ServerSocket server;

	private Proxy proxy;

	@BeforeEach
	void start() throws IOException {
		this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		Background.start("echo", this::accept);
		this.proxy = new Proxy(this.server.getLocalPort());
		this.proxy.start();
	}

	@AfterEach
	void stop() throws IOException {
		this.proxy.close();
		this.server.close();
	}

	@Test
	void forwardsInBothDirectionsAndTheEnd() throws IOException {
		try (Socket client = connect()) {
			assertThat(ask(client, 7)).isEqualTo(7);
			assertThat(ask(client, 8)).isEqualTo(8);
			client.getOutputStream().write(0);
			assertThat(client.getInputStream().read()).isEqualTo(-1);
		}
	}

	@Test
	void dropsSilentlyWhileItIsCut() throws IOException {
		try (Socket client = connect()) {
			assertThat(ask(client, 7)).isEqualTo(7);
			this.proxy.cut();
			assertThat(this.proxy.isCut()).isTrue();
			assertSilent(client, 8);
			try (Socket other = connect()) {
				assertSilent(other, 9);
			}
		}
	}

	@Test
	void resetsCutConnectionsAndForwardsNewOnes() throws IOException {
		try (Socket before = connect()) {
			assertThat(ask(before, 7)).isEqualTo(7);
			this.proxy.cut();
			try (Socket meanwhile = connect()) {
				assertSilent(meanwhile, 8);
				this.proxy.reconnect();
				assertReset(before);
				assertReset(meanwhile);
			}
		}
		assertThat(this.proxy.isCut()).isFalse();
		try (Socket client = connect()) {
			assertThat(ask(client, 9)).isEqualTo(9);
		}
	}

	@Test
	void closesAtOnceWithoutServerAndKeepsRunning() throws IOException {
		int free;
		try (ServerSocket socket = new ServerSocket(0)) {
			free = socket.getLocalPort();
		}
		try (Proxy proxy = new Proxy(free)) {
			proxy.start();
			for (int i = 0; i < 2; i++) {
				try (Socket client = connect(proxy)) {
					assertReset(client);
				}
			}
		}
	}

	private Socket connect() throws IOException {
		return connect(this.proxy);
	}

	private static Socket connect(Proxy proxy) throws IOException {
		Socket client = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
		client.setSoTimeout(10_000);
		return client;
	}

	private static int ask(Socket client, int value) throws IOException {
		client.getOutputStream().write(value);
		return client.getInputStream().read();
	}

	private static void assertSilent(Socket client, int value) throws IOException {
		client.setSoTimeout(SILENCE);
		assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(() -> ask(client, value));
		client.setSoTimeout(10_000);
	}

	private static void assertReset(Socket client) {
		assertThatExceptionOfType(SocketException.class).isThrownBy(() -> client.getInputStream().read());
	}

	private void accept() {
		while (!this.server.isClosed()) {
			try {
				Socket socket = this.server.accept();
				Background.start("echo-connection", () -> echo(socket));
			}
			catch (IOException ex) {
				// The end
			}
		}
	}

	// Zero asks for the end
	private static void echo(Socket socket) {
		try (socket) {
			InputStream in = socket.getInputStream();
			for (int value = in.read(); value > 0; value = in.read()) {
				socket.getOutputStream().write(value);
			}
		}
		catch (IOException ex) {
			// The end
		}
	}

}
