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
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.data.jpa.test.autoconfigure.DataJpaTest;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase.Replace;
import org.springframework.boot.test.context.TestComponent;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.ContextConfiguration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} on a
 * {@link DataJpaTest @DataJpaTest}.
 */
@DataJpaTest(properties = "spring.jpa.hibernate.ddl-auto=create-drop")
@AutoConfigureTestDatabase(replace = Replace.NONE)
@AutoConfigureTestLeadership
@Import(DataJpaSliceTests.Registration.class)
@ContextConfiguration(initializers = TestDatabase.class)
@Tag("ring2")
class DataJpaSliceTests {

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private LeaderElector elector;

	@Autowired
	private Registration registration;

	@Autowired
	private CustomerRepository customers;

	@Test
	void entityIsStoredByTheLeaderOnly() {
		this.registration.register("Ada");
		assertThat(this.customers.findAll()).isEmpty();
		this.leadership.grant();
		this.registration.register("Grace");
		assertThat(this.elector.isLeader()).isTrue();
		assertThat(this.customers.findAll()).extracting(Customer::getName).containsExactly("Grace");
	}

	@TestComponent
	static class Registration {

		private final CustomerRepository customers;

		Registration(CustomerRepository customers) {
			this.customers = customers;
		}

		@LeaderOnly
		void register(String name) {
			this.customers.save(new Customer(name));
		}

	}

}
