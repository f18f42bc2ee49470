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

package io.leaderelection.integration;

import java.util.List;

import io.leaderelection.LeaderElector;
import io.leaderelection.integration.LocalNode.NodeConfiguration;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.ApplicationContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestContextManager;
import org.springframework.test.context.TestPropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Contexts of tests, which Spring Framework 6.2 keeps running in its cache.
 */
@Tag("ring2")
class CachedContextTests {

	private static final PostgreSqlServer SERVER = PostgreSqlServer.shared();

	@Test
	void contextOfATestLeadsAlthoughAnotherOneIsCached() {
		assertThat(leads(First.class)).isTrue();
		assertThat(leads(Second.class)).isTrue();
		assertThat(context(First.class)).isSameAs(context(First.class));
	}

	@Test
	void groupThatIsSetHasOneLeader() {
		assertThat(leads(FirstOfGroup.class)).isTrue();
		assertThat(leads(SecondOfGroup.class)).isFalse();
	}

	@Test
	void contextsThatATestStartsItselfHaveOneLeader() {
		try (LocalNode first = nodeWithoutGroup(); LocalNode second = nodeWithoutGroup()) {
			assertThat(first.leads()).isTrue();
			assertThat(second.leads()).isFalse();
		}
	}

	@Test
	void applicationWithoutNameDoesNotStart() {
		assertThatException().isThrownBy(() -> context(Node.class))
			.havingRootCause()
			.withMessageContaining("Neither leader-election.group nor spring.application.name is set");
	}

	private static LocalNode nodeWithoutGroup() {
		return new LocalNode(SERVER, List.of(NodeConfiguration.class), List.of("spring.application.name=cached"));
	}

	private static boolean leads(Class<?> test) {
		return context(test).getBean(LeaderElector.class).isLeader();
	}

	private static ApplicationContext context(Class<?> test) {
		return new TestContextManager(test).getTestContext().getApplicationContext();
	}

	@SpringBootTest(classes = NodeConfiguration.class, webEnvironment = WebEnvironment.NONE)
	static class Node {

		@DynamicPropertySource
		static void database(DynamicPropertyRegistry registry) {
			registry.add("spring.datasource.url", SERVER::jdbcUrl);
			registry.add("spring.datasource.username", SERVER::username);
			registry.add("spring.datasource.password", SERVER::password);
		}

	}

	@TestPropertySource(properties = "spring.application.name=cached")
	static class First extends Node {

	}

	@TestPropertySource(properties = "leader-election.node-id=second")
	static class Second extends First {

	}

	@TestPropertySource(properties = "leader-election.group=cached-group")
	static class FirstOfGroup extends First {

	}

	@TestPropertySource(properties = "leader-election.node-id=second")
	static class SecondOfGroup extends FirstOfGroup {

	}

}
