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

package io.leaderelection.test.shop;

import io.leaderelection.LeaderElectors;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase.Replace;
import org.springframework.boot.jdbc.test.autoconfigure.JdbcTest;
import org.springframework.boot.test.context.TestComponent;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.jdbc.Sql;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} on a
 * {@link JdbcTest @JdbcTest}.
 */
@JdbcTest
@AutoConfigureTestDatabase(replace = Replace.NONE)
@AutoConfigureTestLeadership(leader = true)
@Import(JdbcSliceTests.Counter.class)
@ContextConfiguration(initializers = TestDatabase.class)
@Sql(statements = "CREATE TABLE counter AS SELECT 0 AS value")
@Tag("ring1")
class JdbcSliceTests {

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private LeaderElectors electors;

	@Autowired
	private Counter counter;

	@Test
	void rowIsUpdatedByTheLeaderOnly() {
		assertThat(this.electors.getDefault().isLeader()).isTrue();
		assertThat(this.counter.increment()).isEqualTo(1);
		this.leadership.revoke();
		assertThat(this.counter.increment()).isNull();
	}

	@TestComponent
	static class Counter {

		private final JdbcClient jdbc;

		Counter(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@LeaderOnly
		@Transactional
		Integer increment() {
			return this.jdbc.sql("UPDATE counter SET value = value + 1 RETURNING value").query(Integer.class).single();
		}

	}

}
