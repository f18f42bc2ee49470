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
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;

import io.leaderelection.autoconfigure.LeaderElectionProperties.Store;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command that verifies whether elections hold on a database.
 */
@Command(name = "verify-database", sortOptions = false,
		description = {
				"Verifies whether elections hold on a database. This takes about 15 seconds, longer with long leases.",
				"It holds elections of its own, with a random name, and leaves nothing behind." },
		exitCodeListHeading = "%nExit status:%n",
		exitCodeList = { "0:elections hold", "1:elections do not hold",
				"2:not determined: the options are wrong, the database cannot be reached or is full, or the connection was lost",
				"130:interrupted (143 after SIGTERM)" },
		footer = { "", "The password is that of the environment variable PGPASSWORD, unless --password asks for it." })
final class VerifyDatabase implements Callable<Integer> {

	private static final int HOLD = 0;

	private static final int DO_NOT_HOLD = 1;

	private static final int UNKNOWN = 2;

	private static final Duration SHORTEST_LEASE = Duration.ofMillis(500);

	/** The library allows longer ones, but the command would take as long. */
	private static final Duration LONGEST_LEASE = Duration.ofMinutes(1);

	@Spec
	@SuppressWarnings("NullAway.Init")
	private CommandSpec spec;

	@Option(names = "--url", required = true, paramLabel = "<url>",
			description = "JDBC URL as of the application, with its parameters: jdbc:postgresql://host/database")
	@SuppressWarnings("NullAway.Init")
	private String url;

	@Option(names = "--username", paramLabel = "<user>", description = "User of the application.")
	private @Nullable String username;

	@Option(names = "--password", interactive = true, prompt = "Password: ", arity = "0",
			description = "Ask for the password.")
	private @Nullable String password;

	@Option(names = "--lease", paramLabel = "<duration>", defaultValue = "5s",
			description = "leader-election.lease-duration; default: ${DEFAULT-VALUE}")
	@SuppressWarnings("NullAway.Init")
	private Duration lease;

	@Option(names = "--store", paramLabel = "<store>", defaultValue = "advisory-lock",
			description = "leader-election.store: advisory-lock (default), or table, for which a schema is created and dropped.")
	@SuppressWarnings("NullAway.Init")
	private String store;

	@Option(names = "--allow-session-pooler",
			description = "leader-election.allow-session-pooler: a pooler in session mode is in between.")
	private boolean allowSessionPooler;

	@Option(names = "--show-host", description = "Do not mask the names of hosts.")
	private boolean showHost;

	@Option(names = "--debug", description = "Print what the library logs, with names of hosts, and stack traces.")
	private boolean debug;

	@Option(names = { "-h", "--help" }, usageHelp = true, description = "Print this help.")
	private boolean help;

	@Override
	public Integer call() {
		Target target = new Target(this.url, this.username,
				(this.password != null) ? this.password : System.getenv("PGPASSWORD"));
		Options options = new Options(this.lease, store(), this.allowSessionPooler, this.debug);
		check(target, options);
		PrintWriter out = this.spec.commandLine().getOut();
		Report report = new Report(out, this.showHost ? UnaryOperator.identity() : target::mask);
		String version = LeaderElectionCli.version();
		String subject = "%s, lease %s, store %s%s%s".formatted(target.describe(), Milliseconds.print(options.lease()),
				this.store, options.allowSessionPooler() ? ", allow-session-pooler" : "",
				(version != null) ? ", leader-election " + version : "");
		report.println("Verifying " + subject);
		try {
			if (!new Verification(target, options, report).run()) {
				return UNKNOWN;
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return UNKNOWN;
		}
		report.println("");
		report.println(report.markdown(subject));
		return report.isFailed() ? DO_NOT_HOLD : HOLD;
	}

	private Store store() {
		return switch (this.store) {
			case "advisory-lock" -> Store.ADVISORY_LOCK;
			case "table" -> Store.TABLE;
			default -> throw usage("--store must be advisory-lock or table");
		};
	}

	private void check(Target target, Options options) {
		if (!target.isValid()) {
			throw usage("--url must be a URL of the form jdbc:postgresql://host/database");
		}
		if (target.hasSocketFactory()) {
			throw usage("--url must not contain socketFactory, which this command uses itself");
		}
		if (options.lease().compareTo(SHORTEST_LEASE) < 0 || options.lease().compareTo(LONGEST_LEASE) > 0) {
			throw usage("--lease must be from 500ms to 1m");
		}
	}

	private ParameterException usage(String message) {
		return new ParameterException(this.spec.commandLine(), message);
	}

}
