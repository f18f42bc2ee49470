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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.MistakenElectors;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.testsupport.PostgreSqlServer;

import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/**
 * A node as a process of its own, without Spring and perhaps with a mistake.
 */
public final class MistakenNode {

	private MistakenNode() {
	}

	static List<String> arguments(Mistake mistake, String node, PostgreSqlServer server, int port, Cluster cluster,
			Duration work, boolean writes) {
		return List.of(mistake.name(), node, server.jdbcUrl(port), server.username(), server.password(),
				cluster.group(), cluster.lease().toString(), cluster.takeoverDelay().toString(), work.toString(),
				Boolean.toString(writes));
	}

	public static void main(String[] args) {
		Mistake mistake = Mistake.valueOf(args[0]);
		ElectionSettings settings = new ElectionSettings("default", args[1], Duration.parse(args[6]),
				Duration.parse(args[7]), Duration.ofSeconds(20), true);
		ConnectionSource source = (driverSettings) -> {
			Properties properties = new Properties();
			properties.putAll(driverSettings);
			properties.setProperty("user", args[3]);
			properties.setProperty("password", args[4]);
			return DriverManager.getConnection(args[2], properties);
		};
		ElectionStore store = new AdvisoryLockStore(settings, ElectionKeys.derive(args[5], "default"), 0, false, source,
				null);
		DefaultLeaderElector elector = MistakenElectors.create(mistake, settings, store, MistakenNode::listen);
		long work = Duration.parse(args[8]).toNanos();
		ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
		scheduler.scheduleAtFixedRate(() -> elector.runIfLeader(() -> Recorder.work(elector, work)), 0, 20,
				TimeUnit.MILLISECONDS);
		Recorder.sample(elector);
		elector.start();
		Recorder.record(Kind.STARTED, "");
		Map<String, Runnable> commands = new HashMap<>(
				Map.of("resign", elector::resign, "stop", () -> elector.stop().join()));
		if (Boolean.parseBoolean(args[9])) {
			FencedWriter writer = new FencedWriter(fenced(args, elector), elector, args[5], args[1], 1,
					Duration.ofMillis(100), Duration.ZERO);
			writer.start();
			commands.putAll(writer.commands());
		}
		Recorder.obey(commands);
	}

	private static void listen(ElectionEvent event) {
		if (event instanceof LeadershipEvent leadership) {
			Recorder.listen(leadership, () -> {
			});
		}
	}

	private static JdbcTransactionManager fenced(String[] args, LeaderElector elector) {
		JdbcTransactionManager manager = FencedWriter.transactions(args[2], args[3], args[4], args[1], 1);
		manager.addListener(new TransactionExecutionListener() {

			@Override
			public void beforeCommit(TransactionExecution transaction) {
				DataSource pool = manager.getDataSource();
				Connection connection = DataSourceUtils.getConnection(pool);
				try {
					elector.getWorkLeadership().fence(connection);
				}
				catch (SQLException ex) {
					throw new UncategorizedSQLException("Fence", null, ex);
				}
				finally {
					DataSourceUtils.releaseConnection(connection, pool);
				}
			}

		});
		return manager;
	}

}
