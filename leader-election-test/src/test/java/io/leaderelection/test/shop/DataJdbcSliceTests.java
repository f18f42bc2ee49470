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

import java.time.Instant;

import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import io.leaderelection.test.TestSchedules;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.data.jdbc.test.autoconfigure.DataJdbcTest;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase.Replace;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.jdbc.Sql;
import org.springframework.test.context.jdbc.Sql.ExecutionPhase;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} on a
 * {@link DataJdbcTest @DataJdbcTest}.
 */
@DataJdbcTest
@AutoConfigureTestDatabase(replace = Replace.NONE)
@AutoConfigureTestLeadership
@Import(ReceiptService.class)
@ContextConfiguration(initializers = TestDatabase.class)
@Sql(statements = "CREATE TABLE receipt (id bigserial PRIMARY KEY, text text)")
@Sql(statements = "DROP TABLE receipt", executionPhase = ExecutionPhase.AFTER_TEST_METHOD)
@Tag("ring2")
class DataJdbcSliceTests {

	private static final Instant FIRE = Instant.parse("2026-05-02T02:00:00Z");

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private TestSchedules schedules;

	@Autowired
	private ReceiptService service;

	@Autowired
	private ReceiptRepository receipts;

	@Test
	void rowIsWrittenByTheLeaderOnly() {
		this.service.print("first");
		assertThat(this.receipts.findAll()).isEmpty();
		this.leadership.grant();
		this.service.print("second");
		assertThat(this.receipts.findAll()).extracting(Receipt::text).containsExactly("second");
	}

	@Test
	@Transactional(propagation = Propagation.NOT_SUPPORTED)
	void durableScheduleRunsOncePerFire() {
		this.schedules.startAt(FIRE.minusSeconds(5));
		this.leadership.grant();
		this.schedules.setTime(FIRE);
		this.service.printNightly();
		this.service.printNightly();
		assertThat(this.schedules.getFires("receipts")).containsExactly(FIRE);
		assertThat(this.receipts.findAll()).extracting(Receipt::text).containsExactly("nightly");
	}

}
