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

package io.leaderelection.integration;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import io.leaderelection.testsupport.ClassPathProcess;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for when an application without a web server ends, each in a JVM.
 */
@Tag("ring2")
class WorkerApplicationTests {

	private static final Duration LIMIT = Duration.ofMinutes(1);

	@TempDir
	private Path directory;

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void applicationWithALeaderOnlyServiceRunsUntilItsContextIsClosed(boolean leads) throws Exception {
		ClassPathProcess worker = run("--leader-election.mode=always", "--leader-election.candidate=" + leads,
				"--worker.service=true");
		assertThat(worker.output()).contains("still running, and then closed");
		assertThat(worker.output().contains("service has started with daemon=false")).isEqualTo(leads);
		assertThat(worker.status()).isZero();
	}

	@Test
	void applicationWithoutALeaderOnlyServiceEndsByItself() throws Exception {
		ClassPathProcess batch = run("--leader-election.mode=always");
		assertThat(batch.output()).contains("main has ended").doesNotContain("still running");
		assertThat(batch.status()).isZero();
	}

	private ClassPathProcess run(String... arguments) throws Exception {
		return ClassPathProcess.run(null, WorkerApplication.class.getName(), List.of(arguments), this.directory, LIMIT);
	}

}
