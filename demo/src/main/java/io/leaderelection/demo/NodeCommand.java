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

package io.leaderelection.demo;

import java.io.IOException;
import java.util.List;
import java.util.Properties;

/**
 * How a node is started: the sample, with the command line of the demo.
 *
 * @param directory where its files go
 * @param connection where the database is
 * @param settings what is configured
 */
record NodeCommand(RunDirectory directory, Properties connection, Expectation.Settings settings) {

	int databasePort() {
		return Integer.parseInt(this.connection.getProperty("port"));
	}

	/**
	 * Start a process.
	 * @param name the name of the node
	 * @param port where it finds the database
	 * @return the process
	 * @throws IOException if it cannot be started
	 */
	Process start(String name, int port) throws IOException {
		ProcessBuilder builder = ChildJvm
			.builder(DemoNode.class,
					List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
							"-Djava.io.tmpdir=" + this.directory.temporaryFiles()),
					arguments(name, port))
			.redirectErrorStream(true)
			.redirectOutput(ProcessBuilder.Redirect.appendTo(this.directory.log(name).toFile()));
		// Not among the arguments, which everybody can list
		builder.environment().put("SPRING_DATASOURCE_PASSWORD", this.connection.getProperty("password"));
		return builder.start();
	}

	// Health and work do not wait half a minute for a database that is cut off, and fires
	// wait for a frozen leader no longer than its lease. The logging of tests, which
	// comes with the proxy, is not used
	private List<String> arguments(String name, int port) {
		return List.of(this.directory.portFile(name).toString(), "--server.port=0", "--server.address=localhost",
				"--spring.datasource.url=jdbc:postgresql://localhost:" + port + "/" + DemoPostgres.USER
						+ "?socketTimeout=10",
				"--spring.datasource.username=" + DemoPostgres.USER,
				"--spring.datasource.hikari.connection-timeout=2000", "--spring.datasource.hikari.maximum-pool-size=5",
				"--spring.task.scheduling.pool.size=8", "--leader-election.node-id=" + name,
				"--leader-election.store=" + this.settings.store(), "--leader-election.initialize-schema=always",
				"--leader-election.lease-duration=" + this.settings.lease(),
				"--leader-election.schedules.transaction-idle-timeout=" + this.settings.lease(),
				"--management.endpoint.leadership.access=unrestricted", "--spring.main.banner-mode=off",
				"--logging.config=classpath:logback-node.xml");
	}

}
