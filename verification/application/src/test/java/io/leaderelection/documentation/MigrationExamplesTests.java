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

package io.leaderelection.documentation;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

import io.leaderelection.documentation.Markdown.CodeBlock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the examples of how to migrate compile, before and after. They are no beans
 * of the {@link DocumentedApplication}, which would hold elections of both kinds.
 */
@Tag("ring1")
class MigrationExamplesTests {

	@TempDir
	private static Path directory;

	private static JavaExamples examples;

	static boolean isPartOf(CodeBlock block) {
		return block.document().startsWith("docs/migration/");
	}

	@BeforeAll
	static void compile() {
		examples = new JavaExamples(
				Markdown.allBlocks("java").stream().filter(MigrationExamplesTests::isPartOf).toList(), directory);
	}

	@AfterAll
	static void close() throws IOException {
		examples.close();
	}

	@ParameterizedTest
	@MethodSource
	void compiles(JavaExample example) {
		assertThat(examples.errors(example)).isEmpty();
	}

	static List<JavaExample> compiles() {
		return examples.all();
	}

	@Test
	void areOfEveryPage() {
		assertThat(examples.all()).extracting((example) -> example.block().document())
			.contains("docs/migration/from-shedlock.md", "docs/migration/from-spring-cloud-kubernetes.md",
					"docs/migration/from-spring-integration.md");
	}

}
