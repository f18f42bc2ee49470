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

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpStatus;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} on a
 * {@link WebMvcTest @WebMvcTest}.
 */
@WebMvcTest
@AutoConfigureTestLeadership
@Import(InvoiceService.class)
@Tag("ring2")
class WebMvcSliceTests {

	@Autowired
	private MockMvcTester mvc;

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private LeaderElector elector;

	@Autowired
	private InvoiceService invoices;

	@Test
	void requestIsHandledByTheLeaderOnly() {
		assertThat(this.mvc.post().uri("/invoices")).hasStatus(HttpStatus.SERVICE_UNAVAILABLE);
		this.leadership.grant();
		assertThat(this.mvc.post().uri("/invoices")).hasStatusOk().bodyText().isEqualTo("sent");
		this.leadership.revoke(Reason.LEASE_EXPIRED);
		assertThat(this.mvc.post().uri("/invoices")).hasStatus(HttpStatus.SERVICE_UNAVAILABLE);
	}

	@Test
	void importedServiceIsGuarded() {
		assertThat(this.invoices.send()).isNull();
		this.leadership.grant();
		assertThat(this.elector.isLeader()).isTrue();
		assertThat(this.invoices.send()).isEqualTo("sent");
	}

	@Test
	void scheduledMethodRunsOnTheLeader() {
		int before = this.invoices.getReminders();
		this.leadership.grant();
		await().until(() -> this.invoices.getReminders() > before);
	}

	@Nested
	@AutoConfigureTestLeadership(leader = true)
	class Leader {

		@Test
		void leadsFromTheStart(@Autowired MockMvcTester mvc) {
			assertThat(mvc.post().uri("/invoices")).hasStatusOk();
		}

	}

}
