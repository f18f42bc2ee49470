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

package io.leaderelection.aot;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import io.leaderelection.aot.AheadOfTime.Output;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that an application that was processed ahead of time does all that it does
 * otherwise.
 */
@Tag("ring2")
class AotApplicationTests {

	@TempDir
	private static Path directory;

	private static AheadOfTime application;

	@BeforeAll
	static void process() throws Exception {
		application = new AheadOfTime(AotApplication.class, directory);
		// No database: none is needed to build an application
		application.process("--leader-election.elections.reports.lease-duration=4s",
				"--management.endpoints.web.exposure.include=*");
	}

	@Test
	void leadsAndWorks() throws Exception {
		Output output = run();
		assertThat(output.status()).as(output.text()).isZero();
		assertThat(output.text().lines().filter((line) -> line.startsWith(AotApplication.PREFIX))).as(output.text())
			.containsExactly("AOT aot=true", "AOT durable=* * * * * *", "AOT endpoint=leader", "AOT fenced=true",
					"AOT fencing={transactionManager=fenced}", "AOT gauge=1.0", "AOT health=UP", "AOT primary=default",
					"AOT qualified=reports", "AOT report=reports/default", "AOT stopped=true");
	}

	@Test
	void analysesFailures() throws Exception {
		Output output = run("--leader-election.lease-duration=1ms");
		assertThat(output.status()).isNotZero();
		assertThat(output.text()).contains("APPLICATION FAILED TO START").contains("leader-election.lease-duration");
	}

	private static Output run(String... properties) throws IOException, InterruptedException {
		PostgreSqlServer server = PostgreSqlServer.shared();
		List<String> arguments = new ArrayList<>(List.of("--spring.application.name=aot-" + UUID.randomUUID(),
				"--spring.datasource.url=" + server.jdbcUrl(), "--spring.datasource.username=" + server.username(),
				"--spring.datasource.password=" + server.password(), "--spring.main.banner-mode=off",
				"--management.endpoints.web.exposure.include=*", "--leader-election.takeover-delay=0",
				"--leader-election.elections.reports.lease-duration=4s", "--aot.election=reports",
				"--aot.job=every-second", "--leader-election.table-name=aot",
				"--leader-election.initialize-schema=always"));
		arguments.addAll(List.of(properties));
		try {
			return application.run(arguments);
		}
		finally {
			server.execute("DROP TABLE IF EXISTS aot_schedule");
		}
	}

}
