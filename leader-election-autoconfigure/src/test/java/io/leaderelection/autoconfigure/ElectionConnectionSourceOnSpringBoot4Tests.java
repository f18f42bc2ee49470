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

import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.leaderelection.autoconfigure.ElectionConnectionSourceTests.NotesDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ElectionConnectionSource} with a provider of credentials, which
 * HikariCP has from version 7 on.
 */
@Tag("ring1")
class ElectionConnectionSourceOnSpringBoot4Tests {

	private final NotesDriver driver = new NotesDriver();

	@BeforeEach
	void register() throws SQLException {
		DriverManager.registerDriver(this.driver);
	}

	@AfterEach
	void deregister() throws SQLException {
		DriverManager.deregisterDriver(this.driver);
	}

	@Test
	void asksTheCredentialsProviderOfHikariEveryTime() throws SQLException {
		HikariDataSource pool = ElectionConnectionSourceTests.hikari("jdbc:notes:postgresql://host/db");
		AtomicReference<String> token = new AtomicReference<>("token-1");
		pool.setCredentialsProvider(() -> Credentials.of("iam", token.get()));
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
			context.registerBean("dataSource", DataSource.class, () -> pool);
			ElectionConnectionSource source = ElectionConnectionSourceTests.of(context,
					ElectionConnectionSourceTests.none());
			source.check();
			token.set("token-2");
			source.connect(new Properties());
		}
		assertThat(this.driver.properties).containsEntry("user", "iam").containsEntry("password", "token-2");
	}

}
