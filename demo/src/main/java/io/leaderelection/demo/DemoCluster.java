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
import java.time.Duration;
import java.util.concurrent.Callable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import org.springframework.boot.convert.DurationStyle;

/**
 * Starts the demo: a PostgreSQL, nodes of the sample, and a page to break them and watch.
 */
@Command(name = "demo", sortOptions = false,
		description = "Starts a PostgreSQL server, nodes of the sample, and a page to break the leader.")
public final class DemoCluster implements Callable<Integer> {

	static final int MAX_NODES = 9;

	@Spec
	@SuppressWarnings("NullAway.Init")
	private CommandSpec spec;

	@Option(names = "--nodes", paramLabel = "<number>", defaultValue = "3",
			description = "Nodes to start, 1 to " + MAX_NODES + "; default: ${DEFAULT-VALUE}")
	private int nodes;

	@Option(names = "--port", paramLabel = "<port>", defaultValue = "8090",
			description = "Port of the page, 0 for any that is free; default: ${DEFAULT-VALUE}")
	private int port;

	@Option(names = "--lease", paramLabel = "<duration>", defaultValue = "5s",
			description = "leader-election.lease-duration: 500ms to 1m; default: ${DEFAULT-VALUE}")
	@SuppressWarnings("NullAway.Init")
	private Duration lease;

	@Option(names = "--store", paramLabel = "<store>", defaultValue = "advisory-lock",
			description = "leader-election.store: ${COMPLETION-CANDIDATES}; default: ${DEFAULT-VALUE}")
	@SuppressWarnings("NullAway.Init")
	private Store store;

	@Option(names = { "-h", "--help" }, usageHelp = true, description = "Print this help.")
	private boolean help;

	private DemoCluster() {
	}

	/**
	 * Start the demo, until this process is ended.
	 * @param args the options
	 */
	public static void main(String[] args) {
		int status = create().execute(args);
		// The threads that serve the page are those of a server, and not daemons
		if (status != ExitCode.OK) {
			System.exit(status);
		}
	}

	static CommandLine create() {
		return new CommandLine(new DemoCluster()).registerConverter(Duration.class, DurationStyle::detectAndParse);
	}

	@Override
	public Integer call() throws IOException {
		require(this.nodes >= 1 && this.nodes <= MAX_NODES, "--nodes must be from 1 to " + MAX_NODES);
		require(this.port >= 0 && this.port <= 65535, "--port must be from 0 to 65535");
		require(this.lease.toMillis() >= 500 && this.lease.toMillis() <= 60_000, "--lease must be from 500ms to 1m");
		try {
			DemoServer server = new DemoServer(this.port);
			RunDirectory directory = RunDirectory.create();
			Launcher launcher = new Launcher(directory, server);
			Runtime.getRuntime().addShutdownHook(new Thread(launcher::stop, "demo-stop"));
			directory.add(new ChildProcess(RunDirectory.LAUNCHER, ProcessHandle.current()));
			EarlierRuns.remove(directory, Launcher::say);
			endWithParent();
			launcher.start(this.nodes, new Expectation.Settings(this.store, this.lease));
			return ExitCode.OK;
		}
		catch (DemoException ex) {
			System.err.println("\n" + ex.getMessage() + "\n");
			return ExitCode.SOFTWARE;
		}
	}

	private void require(boolean valid, String message) {
		if (!valid) {
			throw new ParameterException(this.spec.commandLine(), message);
		}
	}

	// Maven ends what it runs, unless it is killed itself
	private static void endWithParent() {
		if (Boolean.getBoolean("demo.ends-with-parent")) {
			ProcessHandle.current().parent().ifPresent((parent) -> parent.onExit().thenRun(() -> System.exit(1)));
		}
	}

}
