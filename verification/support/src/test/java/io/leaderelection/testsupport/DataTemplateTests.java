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

package io.leaderelection.testsupport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link DataTemplate}.
 */
@Tag("ring1")
class DataTemplateTests {

	@Test
	void isCopiedOnlyWhileItIsComplete(@TempDir Path folder) throws IOException {
		Path data = Files.createDirectory(folder.resolve("initial"));
		Files.writeString(Files.createDirectory(data.resolve("base")).resolve("1"), "content");
		Files.createFile(data.resolve("epg-lock"));
		DataTemplate template = new DataTemplate(folder.resolve("template"));
		for (String copy : List.of("first", "second")) {
			template.copyTo(folder.resolve("none"));
			assertThat(folder.resolve("none")).doesNotExist();
			template.make(data);
			template.copyTo(folder.resolve(copy));
			assertThat(folder.resolve(copy + "/base/1")).hasContent("content");
			assertThat(folder.resolve(copy + "/epg-lock")).doesNotExist();
			Files.delete(folder.resolve("template/data/base/1"));
		}
		template.copyTo(folder.resolve("none"));
		template.make(data);
		template.make(data);
		assertThat(folder).isDirectoryNotContaining("glob:**/template?*");
	}

}
