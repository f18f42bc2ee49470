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
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link TcpProxy}.
 */
@Timeout(60)
@Tag("ring1")
class TcpProxyTests {

	private static final int SILENCE_MILLIS = 150;

	private final EchoServer server = new EchoServer();

	private final TcpProxy proxy = new TcpProxy("localhost", this.server.port());

	private final List<Socket> clients = new ArrayList<>();

	@AfterEach
	void close() throws IOException {
		this.proxy.close();
		this.server.close();
		for (Socket client : this.clients) {
			client.close();
		}
	}

	@Test
	void bytesAndEndsPass() throws IOException {
		Socket client = connect();
		assertAnswers(client, "hello");
		client.shutdownOutput();
		assertThat(client.getInputStream().read()).isEqualTo(-1);
		Awaitility.await().until(() -> this.proxy.connections() == 0 && this.server.connections() == 0);
		assertThat(this.server.lastEnd()).isEqualTo("end");
	}

	@Test
	void blackHoleSwallowsBytesAndEndsUntilHealed() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.blackHole();
		send(client, "lost");
		this.server.endConnections();
		assertSilent(client);
		assertThat(this.server.received()).isEqualTo("before");
		Socket another = connect();
		send(another, "lost");
		assertSilent(another);
		this.proxy.heal();
		assertReset(client);
		assertReset(another);
		assertAnswers(connect(), "after");
		assertThat(this.server.received()).isEqualTo("beforeafter");
	}

	@Test
	void blackHoleSwallowsOneDirection() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.blackHole(Direction.TO_CLIENT);
		send(client, "after");
		assertSilent(client);
		Awaitility.await().until(() -> this.server.received().equals("beforeafter"));
		this.proxy.heal();
		assertReset(client);
		client = connect();
		assertAnswers(client, "x");
		this.proxy.blackHole(Direction.TO_SERVER);
		this.server.endConnections();
		assertThat(client.getInputStream().read()).isEqualTo(-1);
		send(client, "lost");
		this.proxy.heal();
		assertThat(this.server.received()).isEqualTo("beforeafterx");
	}

	@Test
	void blackHoleSwallowsWhatIsUnderWay() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.hold(Direction.TO_CLIENT);
		send(client, "after");
		Awaitility.await().until(() -> this.server.received().equals("beforeafter"));
		this.proxy.blackHole(Direction.TO_CLIENT);
		this.proxy.release();
		assertSilent(client);
		this.proxy.heal();
		assertReset(client);
	}

	@Test
	void clientNoticesAResetOfTheServersSideWhenItSends() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.resetServer();
		Awaitility.await().until(() -> this.server.connections() == 0);
		assertThat(this.server.lastEnd()).contains("reset");
		assertSilent(client);
		send(client, "lost");
		assertReset(client);
		assertThat(this.server.received()).isEqualTo("before");
	}

	@Test
	void healSparesConnectionsThatLostNothing() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.blackHole();
		this.proxy.heal();
		assertAnswers(client, "after");
	}

	@Test
	void holdKeepsBytesAndEndsInOrder() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.hold();
		send(client, "one");
		send(client, "two");
		client.shutdownOutput();
		Socket another = connect();
		send(another, "three");
		assertSilent(client);
		assertThat(this.server.connections()).isOne();
		assertThat(this.server.received()).isEqualTo("before");
		this.proxy.release();
		assertThat(read(client, 6)).isEqualTo("onetwo");
		assertThat(client.getInputStream().read()).isEqualTo(-1);
		assertThat(read(another, 5)).isEqualTo("three");
	}

	@Test
	void holdKeepsOneDirectionAndHealReleases() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.hold(Direction.TO_CLIENT);
		send(client, "after");
		Awaitility.await().until(() -> this.server.received().equals("beforeafter"));
		assertSilent(client);
		this.proxy.heal();
		assertThat(read(client, 5)).isEqualTo("after");
	}

	@Test
	void delayIsALatencyAndNotALimit() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.delay(Duration.ofMillis(200), Duration.ofMillis(300));
		long start = System.nanoTime();
		for (int i = 0; i < 100; i++) {
			send(client, "%03d,".formatted(i));
		}
		byte[] large = new byte[4_000_000];
		client.getOutputStream().write(large);
		for (int i = 0; i < 100; i++) {
			assertThat(read(client, 4)).isEqualTo("%03d,".formatted(i));
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(500),
				Duration.ofSeconds(5));
		assertThat(client.getInputStream().readNBytes(large.length)).isEqualTo(large);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
		this.proxy.delay(Duration.ofHours(1), Duration.ofHours(1));
		send(client, "late");
		assertSilent(client);
		this.proxy.delay(Duration.ZERO, Duration.ZERO);
		assertThat(read(client, 4)).isEqualTo("late");
	}

	@Test
	void cutInMessageLetsTheGivenBytesPass() throws IOException {
		Socket client = connectAndGetAnswer();
		connectAndGetAnswer();
		this.proxy.cutInMessage(Direction.TO_CLIENT, 3);
		send(client, "abcdef");
		assertThat(read(client, 3)).isEqualTo("abc");
		assertSilent(client);
		this.server.endConnections();
		assertSilent(client);
		assertAnswers(connect(), "new");
		this.proxy.heal();
		assertReset(client);
	}

	@Test
	void healRestoresWhatWasNotCutYet() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.cutInMessage(Direction.TO_SERVER, 2);
		assertAnswers(client, "ab");
		this.proxy.heal();
		assertAnswers(client, "after");
	}

	@Test
	void resetReachesBothSides() throws IOException {
		Socket client = connectAndGetAnswer();
		this.proxy.reset();
		assertReset(client);
		Awaitility.await().until(() -> this.server.lastEnd().contains("reset"));
		assertAnswers(connect(), "after");
	}

	@Test
	void resetOfTheClientPasses() throws IOException {
		Socket client = connectAndGetAnswer();
		client.setSoLinger(true, 0);
		client.close();
		Awaitility.await().until(() -> this.server.lastEnd().contains("reset"));
	}

	@Test
	void refusalOfTheServerIsAReset() throws IOException {
		// Bound, so that no other process gets the port, but not listening
		try (Socket silent = new Socket()) {
			silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			try (TcpProxy away = new TcpProxy("localhost", silent.getLocalPort());
					Socket client = new Socket("localhost", away.port())) {
				assertReset(client);
			}
		}
	}

	@Test
	void acceptWithoutAnswerIsForNewConnectionsOnly() throws IOException {
		Socket before = connectAndGetAnswer();
		this.proxy.acceptWithoutAnswer();
		Socket mute = connect();
		send(mute, "lost");
		assertSilent(mute);
		Socket gone = connect();
		Awaitility.await().until(() -> this.proxy.connections() == 3);
		gone.close();
		Awaitility.await().until(() -> this.proxy.connections() == 2);
		assertAnswers(before, "during");
		this.proxy.heal();
		assertReset(mute);
		assertAnswers(before, "after");
		assertAnswers(connect(), "new");
		assertThat(this.server.received()).doesNotContain("lost");
	}

	@Test
	void refuseIsForNewConnectionsOnly() throws IOException {
		Socket before = connectAndGetAnswer();
		this.proxy.refuse();
		assertReset(connect());
		assertAnswers(before, "during");
		this.proxy.heal();
		assertAnswers(before, "after");
		assertAnswers(connect(), "new");
	}

	@Test
	void thousandsOfConnectionsLeaveNoThreadBehind() throws IOException {
		for (int round = 0; round < 5; round++) {
			List<Socket> healthy = connect(200);
			for (Socket client : healthy) {
				assertAnswers(client, "before");
			}
			this.proxy.acceptWithoutAnswer();
			connect(100);
			this.proxy.refuse();
			for (int i = 0; i < 100; i++) {
				connectRefused();
			}
			this.proxy.heal();
			this.proxy.hold();
			connect(100);
			this.proxy.blackHole();
			for (Socket client : healthy.subList(0, 100)) {
				send(client, "lost");
			}
			connect(100);
			this.proxy.heal();
			for (Socket client : healthy.subList(100, 200)) {
				assertAnswers(client, "after");
			}
			this.proxy.reset();
			assertThat(this.proxy.connections()).isZero();
			for (Socket client : this.clients) {
				client.close();
			}
			this.clients.clear();
		}
		List<Socket> open = connect(100);
		this.proxy.blackHole();
		this.proxy.close();
		assertThat(Thread.getAllStackTraces().keySet()).noneMatch((thread) -> thread.getName().equals("tcp-proxy"));
		for (Socket client : open) {
			assertEnded(client);
		}
		Awaitility.await().until(() -> this.server.connections() == 0);
		this.proxy.heal();
	}

	private Socket connectAndGetAnswer() throws IOException {
		Socket client = connect();
		assertAnswers(client, "before");
		return client;
	}

	private Socket connect() throws IOException {
		Socket client = new Socket(InetAddress.getLoopbackAddress(), this.proxy.port());
		client.setTcpNoDelay(true);
		this.clients.add(client);
		return client;
	}

	/**
	 * The end of the connection may arrive before or after it is established.
	 */
	private void connectRefused() throws IOException {
		try {
			connect();
		}
		catch (SocketException ex) {
			assertThat(ex).hasMessageContaining("reset");
		}
	}

	private List<Socket> connect(int number) throws IOException {
		List<Socket> result = new ArrayList<>();
		for (int i = 0; i < number; i++) {
			result.add(connect());
		}
		return result;
	}

	private static void send(Socket client, String text) throws IOException {
		client.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
	}

	private static String read(Socket client, int length) throws IOException {
		client.setSoTimeout(20_000);
		return new String(client.getInputStream().readNBytes(length), StandardCharsets.UTF_8);
	}

	private static void assertAnswers(Socket client, String text) throws IOException {
		send(client, text);
		assertThat(read(client, text.length())).isEqualTo(text);
	}

	private static void assertSilent(Socket client) throws IOException {
		client.setSoTimeout(SILENCE_MILLIS);
		assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(() -> client.getInputStream().read());
	}

	private static void assertEnded(Socket client) throws IOException {
		client.setSoTimeout(20_000);
		try {
			assertThat(client.getInputStream().read()).isEqualTo(-1);
		}
		catch (SocketException ex) {
			assertThat(ex).hasMessageContaining("reset");
		}
	}

	private static void assertReset(Socket client) throws IOException {
		client.setSoTimeout(20_000);
		assertThatExceptionOfType(SocketException.class).isThrownBy(() -> client.getInputStream().read())
			.withMessageContaining("reset");
	}

}
