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

import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import io.leaderelection.test.TestSchedules;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.restclient.test.autoconfigure.RestClientTest;
import org.springframework.boot.test.autoconfigure.json.JsonTest;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.context.TestComponent;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.http.HttpStatus;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.TestContextManager;
import org.springframework.test.context.TestPropertySource;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.mockito.BDDMockito.given;

/**
 * Tests for slices without
 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class SliceWithoutTestLeadershipTests {

	private static final String ACTION = "add @AutoConfigureTestLeadership of the artifact leader-election-test to the "
			+ "test class";

	@ParameterizedTest
	@ValueSource(classes = { GuardedController.class, GuardedService.class, NoAutoConfiguration.class })
	void guardedMethodDoesNotRunUnguarded(Class<?> test, CapturedOutput output) {
		assertThatException().isThrownBy(() -> prepare(test))
			.havingRootCause()
			.withMessageContaining("is guarded by @LeaderOnly, but there is no leader election")
			.withMessageContaining(ACTION);
		assertThat(output).contains("APPLICATION FAILED TO START").contains(ACTION);
	}

	@Test
	void serviceOfTheLeaderDoesNotStart(CapturedOutput output) {
		assertThatException().isThrownBy(() -> prepare(LeaderService.class));
		assertThat(output).contains("Feed' is guarded by @LeaderOnly, but there is no leader election")
			.contains(ACTION);
		assertThat(Feed.started).isFalse();
	}

	@Test
	void electorThatIsMissing(CapturedOutput output) {
		assertThatException().isThrownBy(() -> prepare(MissingElector.class));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Status required a bean of type 'io.leaderelection.LeaderElector'")
			.contains("A test slice, for instance @WebMvcTest, has no leader election.")
			.contains("Add @AutoConfigureTestLeadership of the artifact leader-election-test to the test class.");
	}

	@ParameterizedTest
	@ValueSource(
			classes = { LeadershipOfTest.class, SchedulesOfTest.class, ElectorOfTest.class, ParameterOfSetUp.class })
	void fieldOrParameterOfTheSetUpThatCannotBeInjected(Class<?> test) {
		assertThatException().isThrownBy(() -> prepare(test))
			.withMessageContaining("There is no bean of type")
			.withMessageContaining("Add @AutoConfigureTestLeadership to the test class.");
	}

	@ParameterizedTest
	@ValueSource(strings = { "elector", "electors" })
	void parameterOfATestThatCannotBeInjected(String method) throws Exception {
		assertThatException().isThrownBy(() -> before(ParametersOfTest.class, method))
			.withMessageContaining("There is no bean of type")
			.withMessageContaining(method)
			.withMessageContaining("Add @AutoConfigureTestLeadership to the test class.");
	}

	@Test
	void optionalFieldsAndParametersOfTheTestMayRemainEmpty() throws Exception {
		prepare(OptionalElectorsOfTest.class);
		before(ParametersOfTest.class, "optional");
	}

	@Test
	void skippedCallsAreReportedOnce(CapturedOutput output) throws Exception {
		SpringApplicationBuilder leader = new SpringApplicationBuilder(Elections.class).web(WebApplicationType.NONE)
			.initializers(new TestDatabase())
			.properties("leader-election.group=skipped");
		try (ConfigurableApplicationContext context = leader.run()) {
			Follower test = new Follower();
			TestContextManager manager = new TestContextManager(Follower.class);
			manager.prepareTestInstance(test);
			manager.afterTestMethod(test, Object.class.getMethod("toString"), null);
			assertThat(output).doesNotContain("skipped in a test");
			for (int i = 0; i < 2; i++) {
				assertThat(test.invoices.send()).isNull();
				manager.afterTestMethod(test, Object.class.getMethod("toString"), null);
			}
			assertThat(output).containsOnlyOnce("Calls of guarded methods were skipped in a test");
		}
	}

	private static void before(Class<?> test, String name) throws Exception {
		TestContextManager manager = new TestContextManager(test);
		Object instance = BeanUtils.instantiateClass(test);
		manager.prepareTestInstance(instance);
		manager.beforeTestMethod(instance,
				Stream.of(test.getDeclaredMethods())
					.filter((method) -> method.getName().equals(name))
					.findFirst()
					.orElseThrow());
	}

	private static void prepare(Class<?> test) throws Exception {
		new TestContextManager(test).prepareTestInstance(BeanUtils.instantiateClass(test));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, LeaderElectionAutoConfiguration.class })
	static class Elections {

	}

	@ContextConfiguration(classes = { Elections.class, InvoiceService.class }, initializers = TestDatabase.class)
	@TestPropertySource(properties = "leader-election.group=skipped")
	static class Follower {

		@Autowired
		private InvoiceService invoices;

	}

	@WebMvcTest(InvoiceController.class)
	static class GuardedController {

		@MockitoBean
		private InvoiceService invoices;

	}

	@JsonTest
	@Import(InvoiceService.class)
	static class GuardedService {

	}

	@SpringBootTest(classes = InvoiceService.class, webEnvironment = WebEnvironment.NONE)
	static class NoAutoConfiguration {

	}

	@JsonTest
	@Import(Feed.class)
	static class LeaderService {

	}

	@JsonTest
	@Import(Status.class)
	static class MissingElector {

	}

	@JsonTest
	static class LeadershipOfTest {

		@Autowired
		private TestLeadership leadership;

	}

	@JsonTest
	static class SchedulesOfTest {

		@Autowired
		private TestSchedules schedules;

	}

	@JsonTest
	static class ElectorOfTest {

		@Autowired
		private LeaderElector elector;

	}

	@JsonTest
	static class OptionalElectorsOfTest {

		@Autowired
		private @Nullable LeaderElector elector;

		@Autowired
		@Lazy
		private LeaderElector later;

		@Autowired(required = false)
		private LeaderElector optional;

	}

	@JsonTest
	static class ParametersOfTest {

		void elector(@Autowired LeaderElector elector) {
		}

		void electors(@Autowired(required = false) LeaderElector other, @Autowired LeaderElectors electors) {
		}

		void optional(@Autowired(required = false) LeaderElector elector, @Autowired @Lazy LeaderElector later,
				@Autowired @Nullable LeaderElector nullable, LeaderElector ofAnotherExtension) {
		}

	}

	@JsonTest
	static class ParameterOfSetUp {

		@BeforeEach
		void setUp(@Autowired TestLeadership leadership) {
		}

	}

	@TestComponent
	@LeaderOnly
	static class Feed implements SmartLifecycle {

		static volatile boolean started;

		@Override
		public void start() {
			started = true;
		}

		@Override
		public void stop() {
		}

		@Override
		public boolean isRunning() {
			return false;
		}

	}

	@TestComponent
	static class Status {

		Status(LeaderElector elector) {
		}

	}

	/**
	 * A slice without work of the leader needs nothing.
	 */
	@Nested
	@RestClientTest
	class RestClientSlice {

		@Test
		void starts(@Autowired ApplicationContext context) {
			assertThat(context.getBeanNamesForType(LeaderElector.class)).isEmpty();
		}

	}

	/**
	 * A mock does no work of the leader.
	 */
	@Nested
	@WebMvcTest(StatusController.class)
	@Import(StatusController.class)
	class MockedService {

		@MockitoBean
		private InvoiceService invoices;

		@Test
		void isCalledWithoutLeadership(@Autowired MockMvcTester mvc, CapturedOutput output) {
			given(this.invoices.getReminders()).willReturn(42);
			given(this.invoices.send()).willReturn("mocked");
			assertThat(mvc.get().uri("/status")).hasStatus(HttpStatus.OK).bodyText().isEqualTo("mocked 42");
			assertThat(output).doesNotContain("is not guarded");
		}

	}

	@TestComponent
	@RestController
	static class StatusController {

		private final InvoiceService invoices;

		StatusController(InvoiceService invoices) {
			this.invoices = invoices;
		}

		@GetMapping("/status")
		String status() {
			return this.invoices.send() + " " + this.invoices.getReminders();
		}

	}

}
