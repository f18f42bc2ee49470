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

package io.leaderelection.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs benchmarks and sums them up in a table: time per call with its 99.9 % confidence
 * interval, and bytes per call, rounded since what other threads allocate is counted too.
 * Takes the options of JMH.
 */
public final class Benchmarks {

	private Benchmarks() {
	}

	public static void main(String[] args) throws CommandLineOptionException, RunnerException {
		CommandLineOptions commandLine = new CommandLineOptions(args);
		OptionsBuilder options = new OptionsBuilder();
		options.parent(commandLine).addProfiler(GCProfiler.class).shouldFailOnError(true);
		if (!commandLine.verbosity().hasValue()) {
			options.verbosity(VerboseMode.SILENT);
			System.out.println("Measuring, which takes a few minutes ...");
		}
		print(new Runner(options.build()).run());
	}

	private static void print(Collection<RunResult> results) {
		System.out.println();
		for (RunResult result : results) {
			List<Result<?>> counters = counters(result);
			if (counters.isEmpty()) {
				print(name(result), result.getPrimaryResult(), "  %6.0f B/op".formatted(bytes(result)));
			}
			counters.forEach((counter) -> print(name(result) + " " + counter.getLabel(), counter, ""));
		}
	}

	private static void print(String name, Result<?> score, String bytes) {
		System.out.printf(Locale.ROOT, "%-60s  %8.1f +/- %-6.1f %s%s%n", name, score.getScore(), score.getScoreError(),
				score.getScoreUnit(), bytes);
	}

	/**
	 * Return what the benchmark itself has counted, if anything.
	 */
	private static List<Result<?>> counters(RunResult result) {
		List<Result<?>> counters = new ArrayList<>();
		result.getSecondaryResults().forEach((label, counter) -> {
			if (!label.startsWith("gc.")) {
				counters.add(counter);
			}
		});
		return counters;
	}

	private static double bytes(RunResult result) {
		Result<?> bytes = result.getSecondaryResults().get("gc.alloc.rate.norm");
		return (bytes != null) ? bytes.getScore() : Double.NaN;
	}

	private static String name(RunResult result) {
		String name = result.getParams().getBenchmark();
		String parameters = result.getParams()
			.getParamsKeys()
			.stream()
			.map((key) -> " " + key + "=" + result.getParams().getParam(key))
			.collect(Collectors.joining());
		return name.substring(name.lastIndexOf('.') + 1) + parameters;
	}

}
