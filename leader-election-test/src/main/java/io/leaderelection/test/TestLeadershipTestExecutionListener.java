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

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

import io.leaderelection.Leader;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.test.context.TestExecutionListener;

/**
 * Resets leadership and schedules before each test method to the state that
 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} declares. In tests
 * without it, reports once for each context that guarded methods did not run.
 */
final class TestLeadershipTestExecutionListener implements TestExecutionListener, Ordered {

	private static final Log logger = LogFactory.getLog(TestLeadershipTestExecutionListener.class);

	private static final Set<DefaultLeaderElector> reported = Collections
		.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

	@Override
	public int getOrder() {
		return Ordered.LOWEST_PRECEDENCE;
	}

	@Override
	public void beforeTestMethod(TestContext testContext) {
		if (isControlled(testContext)) {
			testContext.getApplicationContext()
				.getBeanProvider(TestLeadership.class)
				.ifAvailable(TestLeadership::reset);
			testContext.getApplicationContext().getBeanProvider(TestSchedules.class).ifAvailable(TestSchedules::reset);
		}
	}

	@Override
	public void afterTestMethod(TestContext testContext) {
		if (!isControlled(testContext) && testContext.hasApplicationContext()) {
			testContext.getApplicationContext()
				.getBeanProvider(DefaultLeaderElectors.class)
				.stream()
				.flatMap((electors) -> electors.all().stream())
				.filter((elector) -> elector.isCandidate() && !elector.isLeader())
				.filter((elector) -> elector.statistics().skipped() > 0 && reported.add(elector))
				.forEach(TestLeadershipTestExecutionListener::report);
		}
	}

	private static boolean isControlled(TestContext testContext) {
		return TestContextAnnotationUtils.hasAnnotation(testContext.getTestClass(), AutoConfigureTestLeadership.class);
	}

	private static void report(DefaultLeaderElector elector) {
		Leader leader = elector.getLeader();
		logger.warn("Calls of guarded methods were skipped in a test, since its application context does not lead the"
				+ " election '" + elector.getElection() + "' (leader "
				+ ((leader != null) ? "'" + leader.nodeId() + "'" : "unknown") + "). Another context of the tests or"
				+ " another process on this database may lead. With @AutoConfigureTestLeadership, the test decides");
	}

}
