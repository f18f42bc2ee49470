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

import org.testcontainers.containers.JdbcDatabaseContainer;

import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;

/**
 * {@link LeaderElectionConnectionDetails} from a container whose
 * {@code @ServiceConnection} has the name {@code leader-election} and the type
 * {@link LeaderElectionConnectionDetails}. Without the type, the container is also for
 * the application's {@code DataSource}.
 */
class LeaderElectionContainerConnectionDetailsFactory
		extends ContainerConnectionDetailsFactory<JdbcDatabaseContainer<?>, LeaderElectionConnectionDetails> {

	LeaderElectionContainerConnectionDetailsFactory() {
		super("leader-election");
	}

	@Override
	protected LeaderElectionConnectionDetails getContainerConnectionDetails(
			ContainerConnectionSource<JdbcDatabaseContainer<?>> source) {
		return new LeaderElectionContainerConnectionDetails(source);
	}

	private static final class LeaderElectionContainerConnectionDetails
			extends ContainerConnectionDetails<JdbcDatabaseContainer<?>> implements LeaderElectionConnectionDetails {

		private LeaderElectionContainerConnectionDetails(ContainerConnectionSource<JdbcDatabaseContainer<?>> source) {
			super(source);
		}

		@Override
		public String getJdbcUrl() {
			return getContainer().getJdbcUrl();
		}

		@Override
		public String getUsername() {
			return getContainer().getUsername();
		}

		@Override
		public String getPassword() {
			return getContainer().getPassword();
		}

	}

}
