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

import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.platform.commons.util.ExceptionUtils;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchException;

/**
 * A password is nowhere in what the library prints and reports, wherever it stands and
 * whatever fails.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class SecretsTests {

	private static final String MARKER = "m4rk3r";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@RegisterExtension
	final Nodes nodes = new Nodes("logging.level.io.leaderelection=DEBUG");

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.url=jdbc:postgresql://localhost/db?password=m4rk3r%",
			"spring.datasource.url=jdbc:postgresql://shop:m4rk3r@localhost/db",
			"spring.datasource.url=jdbc:postgresql://shop:m4rk3r/db",
			"spring.datasource.url=jdbc:postgresql://shop:m4rk/3r@localhost/db",
			"leader-election.datasource.url=jdbc:postgresql://localhost:5432?user=shop&password=m4rk3r",
			"leader-election.datasource.url=jdbc:postgresql://localhost/db/shop/?password=m4rk3r",
			"leader-election.datasource.url=jdbc:postgresql://localhost;password=m4rk3r",
			"leader-election.datasource.url=jdbc:postgresql://shop:1?m4rk3r@localhost/db",
			"leader-election.datasource.url=jdbc:postgresql://localhost/db?password=m4rk3r%",
			"leader-election.datasource.url=jdbc:postgresql://shop:m4rk3r@localhost/db",
			"leader-election.datasource.url=jdbc:h2:mem:db;PASSWORD=m4rk3r",
			"leader-election.datasource.url=jdbc:mysql://shop:m4rk3r@localhost/db",
			"leader-election.datasource.url=jdbc:oracle:thin:shop/m4rk3r@//localhost/db",
			"leader-election.datasource.url=postgres://shop:m4rk3r@localhost/db" })
	void urlThatCannotBeUsedRefusesTheStart(String property, CapturedOutput output) {
		refused(output, property);
	}

	@ParameterizedTest
	@ValueSource(strings = { "user=shop&password=m4rk3r&socketFactory=missing.Factory",
			"user=postgres&password=m4rk3r&sslmode=require", "user=postgres&password=m4rk3r&options=-c%20missing=1" })
	void parametersThatCannotBeUsedRefuseTheStart(String parameters, CapturedOutput output) {
		refused(output, "leader-election.datasource.url=" + this.server.jdbcUrl() + "?" + parameters);
	}

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.password=m4rk3r", "leader-election.datasource.password=m4rk3r",
			"spring.datasource.hikari.password=m4rk3r",
			"spring.datasource.hikari.data-source-properties.password=m4rk3r" })
	void wrongPasswordRefusesTheStart(String property, CapturedOutput output) {
		refused(output, property, "spring.datasource.username=" + this.nodes.createRole());
	}

	private void refused(CapturedOutput output, String... properties) {
		Exception failure = catchException(this.nodes.with(properties)::start);
		assertThat(failure).isNotNull();
		assertThat(output).contains("APPLICATION FAILED TO START").doesNotContain(MARKER);
		assertThat(ExceptionUtils.readStackTrace(failure)).doesNotContain(MARKER);
	}

	@Test
	void dataSourceThatCannotBeFollowedRefusesTheStart(CapturedOutput output) {
		refused(output, "spring.datasource.type=com.zaxxer.hikari.HikariDataSource",
				"spring.datasource.hikari.data-source-class-name=missing.DataSource",
				"spring.datasource.hikari.password=" + MARKER,
				"spring.datasource.hikari.data-source-properties.password=" + MARKER);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "&sslmode=nonsense", "&sslmode=require&sslcert=/missing&sslpassword=m4rk3r",
			"&targetServerType=nonsense" })
	void databaseThatCannotBeReachedLeavesAFollower(String parameters, CapturedOutput output) throws IOException {
		String url = this.server.jdbcUrl(Processes.freePort()) + "?user=shop&password=" + MARKER + parameters;
		LocalNode node = this.nodes.start("spring.datasource.url=" + url);
		Awaitility.await().until(() -> node.status().problem() != null);
		assertThat(node.status().toString()).doesNotContain(MARKER);
		assertThat(node.leads()).isFalse();
		node.close();
		assertThat(output).contains("Following without a session").doesNotContain(MARKER);
	}

}
