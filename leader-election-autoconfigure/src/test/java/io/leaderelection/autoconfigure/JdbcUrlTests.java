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

package io.leaderelection.autoconfigure;

import java.sql.SQLException;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link JdbcUrl}.
 */
@Tag("ring1")
class JdbcUrlTests {

	@ParameterizedTest
	@ValueSource(strings = { "jdbc:postgresql://host/db", "jdbc:postgresql:db", "jdbc:postgresql://h1,h2/db?a=b",
			"jdbc:aws-wrapper:postgresql://host/db", "jdbc:otel:postgresql://host/db", "jdbc:tc:postgresql:18:///db",
			"jdbc:p6spy:postgresql://host/db", "jdbc-secretsmanager:postgresql://host/db", "prod/db-secret" })
	void acceptsPostgreSqlAlsoBehindWrappers(String url) {
		assertThat(JdbcUrl.isPostgreSql(url)).isTrue();
	}

	@ParameterizedTest
	@ValueSource(strings = { "jdbc:h2:mem:test;MODE=PostgreSQL", "jdbc:mysql://host/db", "jdbc:oracle:thin:@host" })
	void knowsWhatIsNotPostgreSql(String url) {
		assertThat(JdbcUrl.isPostgreSql(url)).isFalse();
	}

	@ParameterizedTest
	@CsvSource({ "'jdbc:postgresql://a,b/db', true", "'jdbc:postgresql://a:1,b:2/db', true",
			"'jdbc:aws-wrapper:postgresql://a,b/db', true", "'jdbc:postgresql://a/db', false",
			"'jdbc:postgresql://a/db?x=b,c', false", "'jdbc:postgresql:db', false" })
	void knowsSeveralHosts(String url, boolean expected) {
		assertThat(JdbcUrl.hasSeveralHosts(url)).isEqualTo(expected);
	}

	@ParameterizedTest
	@CsvSource({ "jdbc:postgresql://h/db?user=u&password=p, jdbc:postgresql://h/db",
			"jdbc:postgresql://h/db, jdbc:postgresql://h/db", "jdbc:mysql://u:p@h/db, jdbc:mysql:(hidden)",
			"jdbc:sqlserver://h;password=p, jdbc:sqlserver://h", "jdbc:postgresql:db, jdbc:postgresql:db",
			"'jdbc:postgresql://a:1,[::1]:2/db?x=y', 'jdbc:postgresql://a:1,[::1]:2/db'",
			"jdbc:postgresql://h/my%20db?ssl, jdbc:postgresql://h/my%20db", "jdbc:h2:mem:x;PASSWORD=p, jdbc:h2:mem:x",
			"jdbc:postgresql://h/db?a=b@c&password=p@q, jdbc:postgresql://h/db",
			"jdbc:postgresql://u:p/a@h/db, jdbc:postgresql:(hidden)",
			"jdbc:postgresql://u:p/db, jdbc:postgresql:(hidden)",
			"jdbc:postgresql://u:1?2@h/db, jdbc:postgresql:(hidden)",
			"jdbc:oracle:thin:scott/tiger@//h, jdbc:oracle:(hidden)",
			"jdbc:oracle:thin:scott/tiger, jdbc:oracle:(hidden)", "jdbc:postgresql:u:p, jdbc:postgresql:(hidden)",
			"jdbc:postgresql://u:12345?x=1@host/db, jdbc:postgresql:(hidden)",
			"jdbc:tc:postgresql:18:///db, jdbc:tc:postgresql:18:///db",
			"jdbc-secretsmanager:postgresql://h/db?password=p, jdbc-secretsmanager:postgresql://h/db",
			"jdbc-secretsmanager:mysql://u:p@h, jdbc-secretsmanager:mysql:(hidden)", "postgres://u:p@h/db, (hidden)" })
	void hidesSecrets(String url, String expected) {
		assertThat(JdbcUrl.withoutSecrets(url)).isEqualTo(expected);
	}

	@Test
	void hidesSecretsOfFailures() {
		SQLException driver = new SQLException("Unable to parse URL jdbc:postgresql://h/db?password=p q", "08001");
		SQLException pool = new SQLException("The pool has failed", "08003", 7, driver);
		assertThat((Throwable) JdbcUrl.withoutSecrets(driver)).hasMessage("Unable to parse URL jdbc:postgresql://h/db");
		assertThat((Throwable) JdbcUrl.withoutSecrets(pool)).hasMessage("The pool has failed")
			.hasNoCause()
			.asInstanceOf(InstanceOfAssertFactories.type(SQLException.class))
			.returns("08003", SQLException::getSQLState)
			.returns(7, SQLException::getErrorCode);
		SQLException other = new SQLException("FATAL", driver.getSQLState(), new IllegalStateException());
		assertThat((Throwable) JdbcUrl.withoutSecrets(other)).isSameAs(other);
	}

	@ParameterizedTest
	@CsvSource({ "jdbc:postgresql://h:5432/db, true", "'jdbc:postgresql://a:1,[::1]:2,[::1]/db', true",
			"jdbc:postgresql:///db, true", "jdbc:postgresql:db, true", "jdbc:postgresql://h/d@b?a=b@c, true",
			"jdbc:postgresql:?user=u, true", "jdbc:postgresql://u:p@h/db, false", "jdbc:postgresql://u@h/db, false",
			"jdbc:postgresql://u:p/db, false", "jdbc:postgresql://::1:5432/db, true", "jdbc:postgresql:/, true",
			"jdbc:postgresql://h:5432?user=u&password=p, false", "jdbc:postgresql://h/db/?password=p, false",
			"jdbc:postgresql://u:1?p@h/db, false", "jdbc:postgresql://h;password=p, false",
			"jdbc:postgresql://h:/db, true", "jdbc:postgresql:db?a=b/c, true" })
	void knowsCredentialsInTheHost(String url, boolean wellFormed) {
		assertThat(JdbcUrl.isWellFormed(url)).isEqualTo(wellFormed);
	}

}
