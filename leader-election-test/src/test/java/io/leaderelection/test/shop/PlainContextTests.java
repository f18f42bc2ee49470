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

import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.context.junit.jupiter.SpringJUnitConfig;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} on a context
 * that is not one of Spring Boot.
 */
@SpringJUnitConfig(InvoiceService.class)
@AutoConfigureTestLeadership
@Tag("ring1")
class PlainContextTests {

	@Test
	void serviceIsGuarded(@Autowired InvoiceService invoices, @Autowired TestLeadership leadership) {
		assertThat(invoices.send()).isNull();
		leadership.grant();
		assertThat(invoices.send()).isEqualTo("sent");
	}

}
