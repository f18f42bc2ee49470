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

package io.leaderelection.sample.postgres;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.Map;

import org.springframework.boot.context.event.ApplicationFailedEvent;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.context.event.SpringApplicationEvent;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.jdbc.support.JdbcUtils;
import org.springframework.util.StringUtils;

/**
 * Where no {@code spring.datasource.url} is configured, sets it to the PostgreSQL that
 * all nodes on this machine share, and lets the store {@code table} create its tables
 * there. Not part of what a user copies, see the package.
 * <p>
 * An initializer rather than an {@code EnvironmentPostProcessor}, because logging works
 * by then: the first start takes a few seconds, and logs that.
 * <p>
 * The properties {@code sample.postgres.directory} and
 * {@code sample.postgres.idle-timeout} are for tests.
 */
class SharedPostgresInitializer implements ApplicationContextInitializer<ConfigurableApplicationContext> {

	private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(10);

	@Override
	public void initialize(ConfigurableApplicationContext context) {
		ConfigurableEnvironment environment = context.getEnvironment();
		if (StringUtils.hasText(environment.getProperty("spring.datasource.url"))) {
			return;
		}
		SharedPostgres.Session session = join(environment);
		environment.getPropertySources()
			.addLast(new MapPropertySource("sharedPostgres",
					Map.of("spring.datasource.url", session.url(), "spring.datasource.username", ServerState.USER,
							"spring.datasource.password", session.password(), "leader-election.initialize-schema",
							"always")));
		context.addApplicationListener(new SessionCloser(session.connection()));
	}

	private SharedPostgres.Session join(ConfigurableEnvironment environment) {
		String directory = environment.getProperty("sample.postgres.directory");
		Duration idleTimeout = environment.getProperty("sample.postgres.idle-timeout", Duration.class, IDLE_TIMEOUT);
		try {
			ServerDirectory files = (directory != null) ? ServerDirectory.of(Path.of(directory))
					: ServerDirectory.ofCurrentUser();
			return new SharedPostgres(files, idleTimeout).join();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while waiting for PostgreSQL", ex);
		}
	}

	/**
	 * Closes the session that keeps the server up until the application has sessions of
	 * its own.
	 */
	private static final class SessionCloser implements ApplicationListener<SpringApplicationEvent> {

		private final Connection session;

		private SessionCloser(Connection session) {
			this.session = session;
		}

		@Override
		public void onApplicationEvent(SpringApplicationEvent event) {
			if (event instanceof ApplicationReadyEvent || event instanceof ApplicationFailedEvent) {
				JdbcUtils.closeConnection(this.session);
			}
		}

	}

}
