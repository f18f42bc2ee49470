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

import java.time.Duration;

import io.leaderelection.LeaderElector;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

import org.springframework.boot.convert.DurationStyle;

/**
 * Entry point of the command line.
 */
@Command(name = "leader-election", subcommands = VerifyDatabase.class,
		description = "Tools for leader election on PostgreSQL.")
public final class LeaderElectionCli {

	@Option(names = { "-h", "--help" }, usageHelp = true, description = "Print this help.")
	private boolean help;

	private LeaderElectionCli() {
	}

	/**
	 * Run a command and exit with its status.
	 * @param args the command and its options
	 */
	public static void main(String[] args) {
		System.exit(create().execute(args));
	}

	/**
	 * Return the version of the library, or {@code null} if it does not run from a jar.
	 */
	static @Nullable String version() {
		return LeaderElector.class.getPackage().getImplementationVersion();
	}

	static CommandLine create() {
		return new CommandLine(new LeaderElectionCli()).registerConverter(Duration.class, DurationStyle::detectAndParse)
			.setExitCodeExceptionMapper((ex) -> ExitCode.USAGE);
	}

}
