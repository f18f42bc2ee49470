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

package io.leaderelection.autoconfigure;

import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link PostgreSqlElectionSessionsFactory}.
 */
@Tag("ring1")
class PostgreSqlElectionSessionsFactoryTests {

	@Test
	void rowOfAnElectionIsNamedAfterItsGroup() {
		assertThat(PostgreSqlElectionSessionsFactory.rowKey("shop", "default", null)).isEqualTo("shop:default");
		assertThat(PostgreSqlElectionSessionsFactory.rowKey("shop", "default", 42L)).isEqualTo(":lock-id:42");
	}

	@Test
	void noTwoElectionsShareARow() {
		assertThat(Stream.of(PostgreSqlElectionSessionsFactory.rowKey("shop", "default", 42L),
				PostgreSqlElectionSessionsFactory.rowKey("lock-id", "42", null),
				PostgreSqlElectionSessionsFactory.rowKey(":lock-id", "42", null),
				PostgreSqlElectionSessionsFactory.rowKey("a:b", "c", null),
				PostgreSqlElectionSessionsFactory.rowKey("a", "b:c", null),
				PostgreSqlElectionSessionsFactory.rowKey("a\\", "b:c", null),
				PostgreSqlElectionSessionsFactory.rowKey("a\\:b", "c", null)))
			.doesNotHaveDuplicates();
	}

}
