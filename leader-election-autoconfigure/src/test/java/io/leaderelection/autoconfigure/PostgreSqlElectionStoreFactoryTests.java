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
 * Tests for {@link PostgreSqlElectionStoreFactory}.
 */
@Tag("ring1")
class PostgreSqlElectionStoreFactoryTests {

	@Test
	void rowOfAnElectionIsNamedAfterItsGroup() {
		assertThat(PostgreSqlElectionStoreFactory.rowKey("shop", "default", null)).isEqualTo("shop:default");
		assertThat(PostgreSqlElectionStoreFactory.rowKey("shop", "default", 42L)).isEqualTo(":lock-id:42");
	}

	@Test
	void noTwoElectionsShareARow() {
		assertThat(Stream.of(PostgreSqlElectionStoreFactory.rowKey("shop", "default", 42L),
				PostgreSqlElectionStoreFactory.rowKey("lock-id", "42", null),
				PostgreSqlElectionStoreFactory.rowKey(":lock-id", "42", null),
				PostgreSqlElectionStoreFactory.rowKey("a:b", "c", null),
				PostgreSqlElectionStoreFactory.rowKey("a", "b:c", null),
				PostgreSqlElectionStoreFactory.rowKey("a\\", "b:c", null),
				PostgreSqlElectionStoreFactory.rowKey("a\\:b", "c", null)))
			.doesNotHaveDuplicates();
	}

}
