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

package io.leaderelection.cli;

import java.io.IOException;

import io.leaderelection.cli.VerifyDatabaseTests.Outcome;
import io.leaderelection.testsupport.Processes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.Model.OptionSpec;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the options of {@link VerifyDatabase}, which need no database.
 */
@Tag("ring1")
class VerifyDatabaseOptionsTests {

	@Test
	void unreachableServer() throws IOException {
		Outcome outcome = VerifyDatabaseTests
			.verifyAt("jdbc:postgresql://127.0.0.1:" + Processes.freePort() + "/shop?user=shop");
		assertThat(outcome.status()).isEqualTo(2);
		assertThat(outcome.output()).contains("The database cannot be reached: Connection to (host)")
			.doesNotContain("127.0.0.1")
			.contains("Check --url");
	}

	@ParameterizedTest
	@ValueSource(strings = { "--url=jdbc:mysql://localhost/shop", "--url=jdbc:postgresql://localhost/shop --lease=soon",
			"--url=jdbc:postgresql://localhost/shop --lease=100ms",
			"--url=jdbc:postgresql://localhost/shop --store=memory", "--username=shop",
			"--url=jdbc:postgresql://localhost/shop?socketFactory=shop.Sockets" })
	void wrongOptions(String options) {
		Outcome outcome = VerifyDatabaseTests.execute(("verify-database " + options).split(" "));
		assertThat(outcome.status()).isEqualTo(2);
		assertThat(outcome.output()).contains("Usage: leader-election verify-database");
	}

	@Test
	void optionsAreDocumented() throws IOException {
		assertThat(VerifyDatabaseTests.documented("--[a-z-]+"))
			.containsExactlyInAnyOrderElementsOf(LeaderElectionCli.create()
				.getSubcommands()
				.get("verify-database")
				.getCommandSpec()
				.options()
				.stream()
				.map(OptionSpec::longestName)
				.toList());
	}

	@Test
	void help() {
		Outcome outcome = VerifyDatabaseTests.execute("verify-database", "--help");
		assertThat(outcome.status()).isZero();
		assertThat(outcome.output()).contains("--url", "--allow-session-pooler", "PGPASSWORD", "Exit status:");
	}

}
