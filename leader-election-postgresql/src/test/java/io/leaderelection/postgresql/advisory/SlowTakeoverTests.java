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

package io.leaderelection.postgresql.advisory;

import java.net.InetAddress;
import java.net.Socket;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.List;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ServerInspection;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link SlowTakeover}, with what server and socket say.
 */
@Tag("ring1")
class SlowTakeoverTests {

	private static final Duration DELAY = Duration.ofMillis(250);

	private final ResultSet row = mock(ResultSet.class);

	@ParameterizedTest
	@CsvSource({ "10.0.0.1, 40000, 10.0.0.2, 5432, fast", "10.0.0.1, 40001, 10.0.0.2, 5432, unknown",
			"10.0.0.9, 40000, 10.0.0.2, 5432, unknown", "10.0.0.1, 40000, 10.0.0.3, 5432, translated",
			"10.0.0.1, 40000, 10.0.0.2, 6432, translated", "::ffff:10.0.0.1, 40000, ::ffff:10.0.0.2, 5432, fast",
			"10.0.0.9, 40000, 10.0.0.3, 5432, unknown", ", 0, , 0, unknown" })
	void comparesAllFourEnds(@Nullable String client, int clientPort, @Nullable String server, int serverPort,
			String expected) throws Exception {
		answer(client, clientPort, server, serverPort);
		assertThat(of(FastTakeover.AUTO, DELAY, 15, false, socket("10.0.0.1", "10.0.0.2"))).isEqualTo(expected);
		assertThat(of(FastTakeover.TRUE, DELAY, 15, false, socket("10.0.0.1", "10.0.0.2"))).isEqualTo("fast");
	}

	@Test
	void scopeOfALinkLocalAddressDoesNotCount() throws Exception {
		answer("fe80::1", 40000, "fe80::2", 5432);
		assertThat(of(FastTakeover.AUTO, DELAY, 15, false, socket("fe80::1%1", "fe80::2%1"))).isEqualTo("fast");
	}

	@Test
	void unknownSocketIsUnknown() throws Exception {
		answer("10.0.0.1", 40000, "10.0.0.2", 5432);
		assertThat(of(FastTakeover.AUTO, DELAY, 15, false, null)).isEqualTo("unknown");
	}

	@Test
	void otherReasonsComeFirst() throws Exception {
		answer("10.0.0.1", 40000, "10.0.0.2", 5432);
		for (FastTakeover fast : List.of(FastTakeover.AUTO, FastTakeover.TRUE)) {
			Socket socket = socket("10.0.0.1", "10.0.0.2");
			assertThat(of(fast, Duration.ofSeconds(10), 15, false, socket)).isEqualTo("delay");
			assertThat(of(fast, Duration.ofMillis(5), 15, false, socket)).isEqualTo("delay");
			assertThat(of(fast, DELAY, 14, false, socket)).isEqualTo("server");
			assertThat(of(fast, DELAY, 15, true, socket)).isEqualTo("pooler");
		}
		assertThat(of(FastTakeover.FALSE, DELAY, 15, false, null)).isEqualTo("disabled");
	}

	@ParameterizedTest
	@CsvSource({ "9999, 10, settings", "10000, 9, settings", "0, 10, settings", "10000, 0, settings",
			"10000, 10, fast" })
	void tcpMustNotEndTheSessionBeforeTheLease(long userTimeout, long idle, String expected) throws Exception {
		answer("10.0.0.1", 40000, "10.0.0.2", 5432);
		given(this.row.getLong("tcp_user_timeout")).willReturn(userTimeout);
		given(this.row.getLong("tcp_keepalives_idle")).willReturn(idle);
		assertThat(of(FastTakeover.AUTO, DELAY, 15, false, socket("10.0.0.1", "10.0.0.2"))).isEqualTo(expected);
	}

	private void answer(@Nullable String client, int clientPort, @Nullable String server, int serverPort)
			throws Exception {
		given(this.row.getLong("tcp_user_timeout")).willReturn(10_000L);
		given(this.row.getLong("tcp_keepalives_idle")).willReturn(10L);
		given(this.row.getString("client_addr")).willReturn(client);
		given(this.row.getInt("client_port")).willReturn(clientPort);
		given(this.row.getString("server_addr")).willReturn(server);
		given(this.row.getInt("server_port")).willReturn(serverPort);
	}

	private static Socket socket(String own, String peer) throws Exception {
		Socket socket = mock(Socket.class);
		given(socket.getLocalAddress()).willReturn(InetAddress.getByName(own));
		given(socket.getLocalPort()).willReturn(40000);
		given(socket.getInetAddress()).willReturn(InetAddress.getByName(peer));
		given(socket.getPort()).willReturn(5432);
		return socket;
	}

	private String of(FastTakeover fast, Duration delay, int version, boolean pooled, @Nullable Socket socket)
			throws Exception {
		ElectionSettings settings = new ElectionSettings("test", "node", Duration.ofSeconds(10), delay, fast,
				Duration.ofSeconds(1), true, 3, NodeProfile.DEFAULT, ElectionSettings.PRIORITY_HOLD);
		ServerInspection server = new ServerInspection("PostgreSQL", version * 10_000, 1, false, "role", "role", 1,
				true, List.of(), true, 800);
		return SlowTakeover.word(SlowTakeover.of(settings, server, pooled, this.row, socket));
	}

}
