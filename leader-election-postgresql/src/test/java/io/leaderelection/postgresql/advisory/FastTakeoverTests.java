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

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.testsupport.Certificates;
import io.leaderelection.testsupport.HaProxy;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import io.leaderelection.testsupport.RoundTrips;
import io.leaderelection.testsupport.TcpProxy;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Whether a takeover from a session is fast, on real routes to a server.
 */
@Tag("ring2")
class FastTakeoverTests extends AdvisoryLockFixture {

	FastTakeoverTests() {
		this.takeoverDelay = Duration.ofMillis(250);
		this.allowSessionPooler = true;
	}

	@Test
	void directConnectionIsFast() throws Exception {
		assertThat(takeover(FastTakeover.AUTO, this.server.port())).isEqualTo(unless("fast"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "[::1]", "[::ffff:127.0.0.1]", "127.0.0.1" })
	void directConnectionIsFastWithEachFormOfAddress(String host) throws Exception {
		try (PostgreSqlServer own = PostgreSqlServer.start("listen_addresses=127.0.0.1,::1")) {
			Assumptions.assumeTrue(Processes.listens(host.replaceAll("[\\[\\]]", ""), own.port()), "There is no IPv6");
			assertThat(takeover(own, FastTakeover.AUTO, own.jdbcUrl().replace(own.host(), host)))
				.isEqualTo(unless("fast"));
		}
	}

	@Test
	void connectionWithTlsIsFast(@TempDir Path folder) throws Exception {
		Certificates certificates = new Certificates(folder);
		try (PostgreSqlServer own = PostgreSqlServer.start(certificates.serverSettings())) {
			assertThat(takeover(own, FastTakeover.AUTO, own.jdbcUrl() + "?sslmode=require")).isEqualTo(unless("fast"));
		}
	}

	@Test
	void proxyIsSeen() throws Exception {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			assertThat(takeover(FastTakeover.AUTO, proxy.port())).isEqualTo(unless("unknown"));
			assertThat(takeover(FastTakeover.TRUE, proxy.port())).isEqualTo(unless("fast"));
		}
	}

	@Test
	void haProxyIsSeen() throws Exception {
		try (HaProxy proxy = HaProxy.start(this.server)) {
			assertThat(takeover(FastTakeover.AUTO, proxy.port())).isEqualTo(unless("unknown"));
		}
	}

	@Test
	void poolerIsSeen() throws Exception {
		try (PgBouncer pooler = PgBouncer.start(this.server, "session")) {
			assertThat(takeover(FastTakeover.AUTO, pooler.port())).isEqualTo(unless("pooler"));
			assertThat(takeover(FastTakeover.TRUE, pooler.port())).isEqualTo(unless("pooler"));
		}
	}

	/**
	 * As by a Service of Kubernetes, or a load balancer that forwards packets.
	 */
	@Test
	void destinationThatTheKernelTranslatesIsSeen() throws Exception {
		int port = Processes.freePort();
		List<String> rule = List.of("OUTPUT", "-p", "tcp", "-d", "127.0.0.1", "--dport", Integer.toString(port), "-j",
				"REDIRECT", "--to-ports", Integer.toString(this.server.port()));
		Assumptions.assumeTrue(iptables("-A", rule), "iptables is not installed or not permitted");
		try {
			assertThat(takeover(FastTakeover.AUTO, port)).isEqualTo(unless("translated"));
			assertThat(takeover(FastTakeover.TRUE, port)).isEqualTo(unless("fast"));
		}
		finally {
			iptables("-D", rule);
		}
	}

	@Test
	void socketsOfTheUserAreNotKnown() throws Exception {
		String url = this.server.jdbcUrl() + "?socketFactory=" + RoundTrips.class.getName();
		assertThat(takeover(this.server, FastTakeover.AUTO, url)).isEqualTo(unless("unknown"));
	}

	@Test
	void driverThatDoesNotFindTheSocketsConnectsWithoutThem() throws Exception {
		this.source = (properties) -> {
			String factory = properties.getProperty("socketFactory");
			if (factory != null) {
				throw new SQLException("The SocketFactory class provided " + factory + " could not be instantiated.");
			}
			return this.server.connect(properties);
		};
		AdvisoryLockStore store = store("node");
		assertThat(takeover(store)).isEqualTo(unless("unknown"));
		assertThat(takeover(store)).isEqualTo(unless("unknown"));
	}

	@Test
	void disabledTakeoverIsNotFast() throws Exception {
		assertThat(takeover(FastTakeover.FALSE, this.server.port())).isEqualTo("disabled");
	}

	private String unless(String word) {
		return this.server.countsEndings() ? word : "server";
	}

	private String takeover(FastTakeover fast, int port) throws Exception {
		return takeover(this.server, fast, this.server.jdbcUrl(port));
	}

	private String takeover(PostgreSqlServer to, FastTakeover fast, String url) throws Exception {
		this.fastTakeover = fast;
		this.source = (settings) -> to.connect(url, to.username(), settings);
		return takeover(store("node"));
	}

	private String takeover(AdvisoryLockStore store) throws Exception {
		StoreSession session = open(store);
		assertThat(connection(session).isValid(5)).isTrue();
		String takeover = session.takeover();
		session.close();
		return takeover;
	}

	private static boolean iptables(String command, List<String> rule) throws InterruptedException {
		ProcessBuilder process = new ProcessBuilder("iptables", "-w", "-t", "nat", command);
		process.command().addAll(rule);
		try {
			return process.redirectErrorStream(true).start().waitFor() == 0;
		}
		catch (IOException ex) {
			return false;
		}
	}

}
