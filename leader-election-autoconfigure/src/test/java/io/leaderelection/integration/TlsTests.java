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

package io.leaderelection.integration;

import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BiFunction;

import javax.sql.DataSource;

import io.leaderelection.integration.LocalNode.NodeConfiguration;
import io.leaderelection.testsupport.Certificates;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.ds.PGSimpleDataSource;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Tests for elections over TLS: the connection of an election verifies the server as the
 * {@link DataSource} of the application does.
 */
@EmbeddedServerOnly
@Tag("ring2")
class TlsTests {

	@TempDir
	static Path folder;

	private static Certificates certificates;

	private static Path otherAuthority;

	private static PostgreSqlServer server;

	@RegisterExtension
	final Nodes nodes = new Nodes(server);

	@BeforeAll
	static void startServer() throws IOException {
		certificates = new Certificates(Files.createDirectory(folder.resolve("right")));
		otherAuthority = new Certificates(Files.createDirectory(folder.resolve("other"))).authority();
		server = PostgreSqlServer.start(certificates.serverSettings());
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	@ParameterizedTest
	@EnumSource
	void leadsOverTls(Place place) {
		place.start(this.nodes, "localhost", certificates.authority()).awaitLeader();
		assertThat(server.query("SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
				+ "WHERE application_name LIKE 'leader-election default %'"))
			.containsExactly("t");
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource
	void refusesServerOfAnotherAuthority(Place place) {
		assertRefused(place, "localhost", otherAuthority, "SSL error: PKIX path");
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource
	void refusesServerWithAnotherName(Place place) {
		assertRefused(place, "127.0.0.1", certificates.authority(), "The hostname 127.0.0.1 could not be verified");
	}

	private void assertRefused(Place place, String host, Path authority, String reason) {
		assertThatException().isThrownBy(() -> place.start(this.nodes, host, authority))
			.withStackTraceContaining("The database rejected the login for leader election: ")
			.withStackTraceContaining(reason);
	}

	/**
	 * Where an application sets the parameters.
	 */
	enum Place {

		URL((host, authority) -> new String[] { "spring.datasource.url=" + url(host) + parameters(authority) }),

		HIKARI_PROPERTIES((host,
				authority) -> new String[] { "spring.datasource.url=" + url(host),
						"spring.datasource.hikari.data-source-properties.sslmode=verify-full",
						"spring.datasource.hikari.data-source-properties.sslrootcert=" + authority }),

		ELECTION_URL((host,
				authority) -> new String[] { "leader-election.datasource.url=" + url(host) + parameters(authority),
						"leader-election.datasource.username=" + server.username(),
						"leader-election.datasource.password=" + server.password() }),

		DATA_SOURCE((host, authority) -> new String[] { "test.host=" + host, "test.port=" + server.port(),
				"test.authority=" + authority });

		private final BiFunction<String, Path, String[]> properties;

		Place(BiFunction<String, Path, String[]> properties) {
			this.properties = properties;
		}

		LocalNode start(Nodes nodes, String host, Path authority) {
			return nodes.start((this == DATA_SOURCE) ? DataSourceConfiguration.class : NodeConfiguration.class,
					this.properties.apply(host, authority));
		}

		private static String url(String host) {
			return "jdbc:postgresql://" + host + ":" + server.port() + "/" + server.database();
		}

		private static String parameters(Path authority) {
			return "?sslmode=verify-full&sslrootcert=" + authority;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DataSourceConfiguration {

		@Bean
		DataSource dataSource(@Value("${test.host}") String host, @Value("${test.port}") int port,
				@Value("${test.authority}") String authority) {
			PGSimpleDataSource dataSource = new PGSimpleDataSource();
			dataSource.setServerNames(new String[] { host });
			dataSource.setPortNumbers(new int[] { port });
			dataSource.setDatabaseName("postgres");
			dataSource.setUser("postgres");
			dataSource.setSslMode("verify-full");
			dataSource.setSslRootCert(authority);
			return dataSource;
		}

	}

}
