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

import io.leaderelection.documentation.JavaExample.Form;
import io.leaderelection.documentation.Markdown.CodeBlock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link Markdown} and {@link JavaExamples}.
 */
@Tag("ring1")
class MarkdownTests {

	private static final String TEXT = """
			# Heading

			```java
			import java.util.zip.CRC32;

			@Component
			class Right {

				CRC32 sum = new CRC32();

			}
			```

			* Text with `code` and a [link](#heading)

			  ```java
			  @LeaderOnly
			  void wrong() {
			  	this.unknown.call();
			  }
			  ```

			```java
			Term term = this.elector.getLeadership().getTerm();
			term.fly();
			```

			```
			INFO
			```
			""";

	private static final Markdown DOCUMENT = Markdown.of(TEXT);

	@Test
	void findsBlocks() {
		assertThat(DOCUMENT.languages()).containsExactly("", "java");
		assertThat(DOCUMENT.blocks("java")).hasSize(3);
		assertThat(DOCUMENT.blocks("java").get(1))
			.isEqualTo(new CodeBlock("text.md", "java", 17, "@LeaderOnly\nvoid wrong() {\n\tthis.unknown.call();\n}"));
		assertThat(DOCUMENT.blocks("").get(0).code()).isEqualTo("INFO");
	}

	@Test
	void findsText() {
		assertThat(DOCUMENT.code()).containsExactly("code");
		assertThat(DOCUMENT.links()).containsExactly("#heading");
		assertThat(DOCUMENT.anchors()).containsExactly("heading");
	}

	@Test
	void blockThatDoesNotEndIsAnError() {
		assertThatIllegalArgumentException().isThrownBy(() -> Markdown.of("a\n\n```java\nclass A {\n}\n"))
			.withMessage("The block that begins in line 3 does not end");
	}

	@Test
	void errorsAreThoseOfTheCompilerInLinesOfTheDocument(@TempDir Path directory) throws IOException {
		try (JavaExamples examples = new JavaExamples(DOCUMENT.blocks("java"), directory)) {
			List<JavaExample> all = examples.all();
			assertThat(all).extracting(JavaExample::form).containsExactly(Form.TYPES, Form.MEMBERS, Form.STATEMENTS);
			assertThat(examples.errors(all.get(0))).isEmpty();
			assertThat(examples.errors(all.get(1))).singleElement()
				.asString()
				.startsWith("line 19: cannot find symbol");
			assertThat(examples.errors(all.get(2))).singleElement()
				.asString()
				.startsWith("line 25: cannot find symbol");
		}
	}

	@Test
	void exampleThatIsNotWellFormedIsAnError(@TempDir Path directory) throws IOException {
		Markdown document = Markdown.of("```java\n@LeaderOnly\nvoid open() {\n```");
		try (JavaExamples examples = new JavaExamples(document.blocks("java"), directory)) {
			assertThat(examples.errors(examples.all().get(0))).singleElement()
				.asString()
				.startsWith("line 4: reached end of file");
		}
	}

}
