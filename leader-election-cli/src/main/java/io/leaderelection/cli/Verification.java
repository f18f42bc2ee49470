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

import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;

/**
 * All checks of a database, in an order in which each one relies on those before.
 */
final class Verification {

	private final Target target;

	private final Options options;

	private final Report report;

	/**
	 * Create a new {@code Verification} instance.
	 * @param target the database
	 * @param options how to verify it
	 * @param report receives the results
	 */
	Verification(Target target, Options options, Report report) {
		this.target = target;
		this.options = options;
		this.report = report;
	}

	/**
	 * Run the checks, up to the first without which the others make no sense.
	 * @return whether it was determined whether elections hold
	 */
	boolean run() throws InterruptedException {
		long start = System.nanoTime();
		try (ShutdownInterrupt shutdown = new ShutdownInterrupt();
				Connection connection = this.target.connect(this.options.sessionNames())) {
			return run(connection, System.nanoTime() - start, shutdown);
		}
		catch (SQLException ex) {
			if (Obstacle.isSessionTimeout(ex)) {
				this.report.failed("connection", ex.getMessage()
						+ ". A preset of the role or of the database ends sessions before they are used; see ALTER ROLE … RESET");
				return true;
			}
			this.report.println("");
			this.report.println("The database cannot be reached: " + ex.getMessage());
			this.report.println(action(ex));
			return false;
		}
	}

	private boolean run(Connection connection, long connected, ShutdownInterrupt shutdown) throws InterruptedException {
		ServerCheck server = new ServerCheck(this.target, this.options, this.report);
		VerificationException undetermined = null;
		try {
			server.run(connection, connected);
			verifyElections(connection, server.isPooled());
		}
		catch (VerificationException ex) {
			if (shutdown.isRequested()) {
				throw new InterruptedException();
			}
			if (ex.isProven()) {
				this.report.failed(ex.check(), String.valueOf(ex.getMessage()));
			}
			else {
				undetermined = ex;
			}
		}
		catch (RuntimeException ex) {
			undetermined = VerificationException.undetermined("election", "Unexpected: " + ex, ex);
		}
		new CleanUpCheck(this.options, this.report).run(connection, server.isPooled());
		if (undetermined != null) {
			undetermined(undetermined);
		}
		return undetermined == null;
	}

	private void undetermined(VerificationException ex) {
		this.report.println("");
		this.report.println("Not determined, in the check \"" + ex.check() + "\": "
				+ String.valueOf(ex.getMessage()).replaceAll("\\R+", " "));
		this.report.println(String.valueOf(ex.action()));
		if (this.options.debug()) {
			StringWriter trace = new StringWriter();
			ex.printStackTrace(new PrintWriter(trace, true));
			this.report.println(trace.toString());
		}
	}

	/**
	 * Hold elections. Their failure proves nothing if the server is gone.
	 */
	private void verifyElections(Connection connection, boolean pooled)
			throws VerificationException, InterruptedException {
		try {
			elect(connection, pooled);
		}
		catch (VerificationException ex) {
			throw isConnected(connection) ? ex : VerificationException.connectionLost(ex);
		}
	}

	private static boolean isConnected(Connection connection) {
		try {
			return connection.isValid(5);
		}
		catch (SQLException ex) {
			return false;
		}
	}

	private void elect(Connection connection, boolean pooled) throws VerificationException, InterruptedException {
		if (this.options.isTable()) {
			try (TemporarySchema schema = new TemporarySchema(this.target, this.options, this.report)) {
				new ElectionCheck(this.target, this.options, this.report, false).run(connection);
			}
		}
		else {
			boolean fast = new SessionCheck(this.target, this.options, this.report).run(connection, pooled);
			new ElectionCheck(this.target, this.options, this.report, fast).run(connection);
		}
	}

	private static String action(SQLException ex) {
		String state = String.valueOf(ex.getSQLState());
		if (state.startsWith("28")) {
			return "Check --username, and the password: set PGPASSWORD, or use --password to be asked for it.";
		}
		if (state.equals("3D000")) {
			return "Check the name of the database in --url.";
		}
		Obstacle obstacle = Obstacle.of(ex);
		if (obstacle != null && !state.startsWith("08")) {
			return obstacle.action();
		}
		return "Check --url, and whether the server accepts connections from here.";
	}

}
