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

package io.leaderelection.compatibility;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.testsupport.ClassPathProcess;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.Jdk;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The command {@code verify-database}, in its executable jar, with each version of
 * PostgreSQL and both stores.
 */
@EmbeddedServerOnly
@Tag("ring2")
class VerifyDatabaseTests {

	private static final Path JAR = Library.ROOT
		.resolve(Path.of("leader-election-cli", "target", "leader-election-cli.jar"));

	@TempDir
	private Path directory;

	static Stream<Integer> versions() {
		return Versions.majors();
	}

	@ParameterizedTest
	@Tag("ring3")
	@MethodSource("versions")
	void electionsHold(int version) throws Exception {
		try (PostgreSqlServer server = PostgreSqlServer.start(Versions.binaries(version))) {
			server.execute("CREATE ROLE shop LOGIN PASSWORD 'secret'");
			server.execute("CREATE DATABASE shop OWNER shop");
			verify(server, version, "advisory-lock");
			verify(server, version, "table");
		}
	}

	private void verify(PostgreSqlServer server, int version, String store) throws Exception {
		ClassPathProcess process = ClassPathProcess.run(List.of("env", "PGPASSWORD=secret",
				Jdk.current().java().toString(), "-jar", JAR.toString(), "verify-database",
				"--url=" + server.jdbcUrl(server.port(), "shop"), "--username=shop", "--lease=2s", "--store=" + store),
				this.directory, Duration.ofMinutes(2));
		assertThat(process.status()).as(process.output()).isZero();
		assertThat(process.output()).contains("PostgreSQL " + Versions.postgresql(version) + " ")
			.contains("store " + store)
			.contains("### Elections hold");
	}

	/**
	 * Spring Boot writes the times of the classes that it moves in UTC too, computed with
	 * the offset of the time zone. Such an entry also has a time of its last access.
	 */
	@Test
	void timesInTheJarDoNotDependOnTheTimeZone() throws IOException {
		try (JarFile jar = new JarFile(JAR.toFile())) {
			assertThat(jar.stream()).hasSizeGreaterThan(100).allMatch((entry) -> entry.getLastAccessTime() == null);
		}
	}

	@Test
	void documentNamesTheVersions() throws IOException {
		String versions = Versions.majors().map(Versions::postgresql).collect(Collectors.joining(", "));
		assertThat(Files.readString(Library.ROOT.resolve(Path.of("docs", "operations", "verify-database.md"))))
			.contains("| PostgreSQL " + versions.replaceFirst(", ([^,]*)$", " and $1")
					+ " on Linux, embedded | direct |");
	}

}
