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

import org.jspecify.annotations.Nullable;

import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionDetailsFactory;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionSource;

/**
 * {@link LeaderElectionConnectionDetails} from a service with the label
 * {@code org.springframework.boot.service-connection: leader-election} and the
 * environment of the image {@code postgres}. Because of the label, Spring Boot does not
 * use the service for the application's {@code DataSource}.
 */
class LeaderElectionDockerComposeConnectionDetailsFactory
		extends DockerComposeConnectionDetailsFactory<LeaderElectionConnectionDetails> {

	LeaderElectionDockerComposeConnectionDetailsFactory() {
		super("leader-election");
	}

	@Override
	protected LeaderElectionConnectionDetails getDockerComposeConnectionDetails(DockerComposeConnectionSource source) {
		return new LeaderElectionDockerComposeConnectionDetails(source.getRunningService());
	}

	private static final class LeaderElectionDockerComposeConnectionDetails extends DockerComposeConnectionDetails
			implements LeaderElectionConnectionDetails {

		private static final int PORT = 5432;

		private final String jdbcUrl;

		private final String username;

		private final @Nullable String password;

		private LeaderElectionDockerComposeConnectionDetails(RunningService service) {
			super(service);
			String user = service.env().get("POSTGRES_USER");
			this.username = (user != null) ? user : "postgres";
			this.password = service.env().get("POSTGRES_PASSWORD");
			String database = service.env().get("POSTGRES_DB");
			String parameters = service.labels().get("org.springframework.boot.jdbc.parameters");
			this.jdbcUrl = "jdbc:postgresql://%s:%d/%s".formatted(service.host(), service.ports().get(PORT),
					(database != null) ? database : this.username) + ((parameters != null) ? "?" + parameters : "");
		}

		@Override
		public String getJdbcUrl() {
			return this.jdbcUrl;
		}

		@Override
		public String getUsername() {
			return this.username;
		}

		@Override
		public @Nullable String getPassword() {
			return this.password;
		}

	}

}
