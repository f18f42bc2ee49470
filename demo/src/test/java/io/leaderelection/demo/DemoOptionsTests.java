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

import java.io.PrintWriter;
import java.io.StringWriter;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the options of {@link DemoCluster}.
 */
@Tag("ring1")
class DemoOptionsTests {

	private final StringWriter output = new StringWriter();

	private final CommandLine command = DemoCluster.create()
		.setOut(new PrintWriter(this.output))
		.setErr(new PrintWriter(this.output));

	@Test
	void printsDefaults() {
		assertThat(this.command.execute("--help")).isZero();
		assertThat(this.output.toString()).contains("default: 3", "8090", "default: 5s", "advisory-lock, table");
	}

	@ParameterizedTest
	@ValueSource(strings = { "--nodes=0", "--nodes=10", "--nodes=x", "--nodes=", "--port=-1", "--port=65536",
			"--lease=499ms", "--lease=61s", "--lease=soon", "--lease=", "--store=", "--store=Table", "--store=redis",
			"--leases=5s", "--lease", "5" })
	void refusesTheRest(String arg) {
		assertThat(this.command.execute(arg)).isEqualTo(2);
		assertThat(this.output.toString()).contains(arg.split("=")[0], "--lease");
	}

}
