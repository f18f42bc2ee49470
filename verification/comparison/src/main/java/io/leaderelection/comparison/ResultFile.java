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

package io.leaderelection.comparison;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

import tools.jackson.databind.json.JsonMapper;

/**
 * A file with a line of JSON for each run, which is written as soon as the run has ended.
 */
final class ResultFile {

	private final JsonMapper json = new JsonMapper();

	private final Path file;

	private final List<Result> results = new ArrayList<>();

	ResultFile(Path file) throws IOException {
		this.file = file;
		Files.createDirectories(file.toAbsolutePath().getParent());
		if (Files.exists(file)) {
			for (String line : Files.readAllLines(file)) {
				this.results.add(this.json.readValue(line, Result.class));
			}
		}
	}

	List<Result> results() {
		return List.copyOf(this.results);
	}

	void add(Result result) throws IOException {
		this.results.add(result);
		Files.writeString(this.file, this.json.writeValueAsString(result) + "\n", StandardOpenOption.CREATE,
				StandardOpenOption.APPEND);
	}

}
