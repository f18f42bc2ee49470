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
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * What was verified. Each result is printed at once; all of them are part of a report in
 * Markdown.
 */
final class Report {

	private final PrintWriter out;

	private final UnaryOperator<String> masking;

	private final List<Line> lines = new ArrayList<>();

	/**
	 * Create a new {@code Report} instance.
	 * @param out receives the results
	 * @param masking removes what must not be shown
	 */
	Report(PrintWriter out, UnaryOperator<String> masking) {
		this.out = out;
		this.masking = masking;
	}

	void ok(String check, String details) {
		add(Result.OK, check, details);
	}

	/**
	 * Add a result that does not prevent elections but that an operator should know.
	 */
	void note(String check, String details) {
		add(Result.NOTE, check, details);
	}

	void failed(String check, String details) {
		add(Result.FAILED, check, details);
	}

	private void add(Result result, String check, String details) {
		Line line = new Line(result, check, this.masking.apply(details));
		this.lines.add(line);
		println("  %-6s  %-22s  %s".formatted(result.word, check, line.details()));
	}

	/**
	 * Print a line that is not part of the report.
	 */
	void println(String line) {
		this.out.println(this.masking.apply(line));
		this.out.flush();
	}

	boolean isFailed() {
		return this.lines.stream().anyMatch((line) -> line.result() == Result.FAILED);
	}

	/**
	 * Return the report.
	 * @param subject what was verified, and how
	 */
	String markdown(String subject) {
		StringBuilder text = new StringBuilder("### Elections ").append(isFailed() ? "do not hold" : "hold")
			.append("\n\n")
			.append(this.masking.apply(subject))
			.append("\n\nService: (which product, plan and version, and which endpoint)\n\n| check | result | details |\n|---|---|---|\n");
		for (Line line : this.lines) {
			text.append("| %s | %s | %s |\n".formatted(line.check(), line.result().word,
					line.details().replace("|", "\\|").replaceAll("\\R+", " ")));
		}
		return text.toString();
	}

	private enum Result {

		OK("ok"), NOTE("note"), FAILED("FAILED");

		private final String word;

		Result(String word) {
			this.word = word;
		}

	}

	private record Line(Result result, String check, String details) {
	}

}
