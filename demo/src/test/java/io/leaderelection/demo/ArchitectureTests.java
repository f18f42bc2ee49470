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

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what the sample and the demo use of the starter: nothing that an application
 * could not rely on.
 */
@Tag("ring1")
class ArchitectureTests {

	private static final String BASE = "io.leaderelection";

	@Test
	void sampleAndDemoUseNoInternalPackage() {
		JavaClasses classes = new ClassFileImporter().withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
			.importPackages(BASE + ".sample", BASE + ".demo");
		assertThat(classes).isNotEmpty();
		ArchRuleDefinition.noClasses()
			.should()
			.dependOnClassesThat()
			.resideInAnyPackage(BASE + ".engine..", BASE + ".postgresql..", BASE + ".transaction..",
					BASE + ".lifecycle..", BASE + ".health..", BASE + ".metrics..", BASE + ".actuate..",
					BASE + ".autoconfigure..")
			.check(classes);
	}

}
