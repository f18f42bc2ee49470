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

package com.example.shop;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leadership by hand. No server listens at the URL: the test needs no database.
 */
@SpringBootTest(properties = "spring.datasource.url=jdbc:postgresql://localhost:1/shop")
@AutoConfigureTestLeadership
class InvoicesTests {

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private Invoices invoices;

	@Test
	void areSentByTheLeaderOnly() {
		assertThat(this.invoices.send()).isNull();
		this.leadership.grant();
		assertThat(this.invoices.send()).isEqualTo("sent");
		this.leadership.revoke(Reason.LEASE_EXPIRED);
		assertThat(this.invoices.send()).isNull();
	}

}
