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

package io.leaderelection.test;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.annotation.LeaderOnly;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}, as an
 * application would use it.
 */
@SpringBootTest(classes = AutoConfigureTestLeadershipTests.Application.class,
		webEnvironment = SpringBootTest.WebEnvironment.NONE, properties = "leader-election.mode=postgresql")
@AutoConfigureTestLeadership
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("ring1")
class AutoConfigureTestLeadershipTests {

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private LeaderElector elector;

	@Autowired
	private Invoices invoices;

	@Test
	@Order(1)
	void invoicesAreSentByTheLeaderOnly() {
		assertThat(this.invoices.send()).isNull();
		this.leadership.grant();
		assertThat(this.invoices.send()).isEqualTo("sent");
		this.leadership.revoke(Reason.LEASE_EXPIRED);
		assertThat(this.invoices.send()).isNull();
		this.leadership.grant();
	}

	@Test
	@Order(2)
	void whatAnotherTestLeftBehindIsGone() {
		assertThat(this.elector.isLeader()).isFalse();
	}

	@Nested
	class Inherited {

		@Test
		void nestedClassesInherit() {
			assertThat(AutoConfigureTestLeadershipTests.this.elector.isLeader()).isFalse();
			AutoConfigureTestLeadershipTests.this.leadership.grant();
		}

	}

	@Nested
	@AutoConfigureTestLeadership(leader = true)
	@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
	class Leader {

		@Autowired
		private TestLeadership leadership;

		@Autowired
		private LeaderElector elector;

		@Test
		@Order(1)
		void leadsFromTheStart() {
			assertThat(this.elector.isLeader()).isTrue();
			this.leadership.revoke();
		}

		@Test
		@Order(2)
		void leadsAgainInTheNextTest() {
			assertThat(this.elector.isLeader()).isTrue();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(excludeName = "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
	@Import(Invoices.class)
	static class Application {

	}

	@Component
	static class Invoices {

		@LeaderOnly
		String send() {
			return "sent";
		}

	}

}
