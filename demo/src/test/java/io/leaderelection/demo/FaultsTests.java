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

package io.leaderelection.demo;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link Faults} and {@link Outcomes}: that an outcome is attributed to the
 * action that caused it, and to no other.
 */
@Tag("ring1")
class FaultsTests {

	private static final Expectation.Settings SETTINGS = settings(Store.ADVISORY_LOCK);

	private static final Expectation.Settings TABLE = settings(Store.TABLE);

	private final Terms terms = new Terms();

	private final DemoDatabase database = mock();

	private final Faults faults = new Faults(new Outcomes(this.terms, this.database, SETTINGS.silence()));

	private final Map<Long, NodeObservation> observations = new HashMap<>();

	private final NodeProcess first = node("node-1", 1);

	private final NodeProcess second = node("node-2", 2);

	@BeforeEach
	void letFirstLead() {
		given(this.database.gap(any(), any())).willReturn(Duration.ofSeconds(1));
		see(1, 1100, Reports.granted("1", 1000));
	}

	@Test
	void attributesFailoverToFaultOfTheLeader() {
		act(Action.FREEZE, this.first, 2000);
		assertThat(update(3000).outcome()).isNull();
		see(2, 7100, Reports.granted("2", 7000));
		DemoState.FaultView fault = update(7200);
		assertThat(fault.outcome())
			.isEqualTo(new DemoState.Outcome("node-2", false, Reports.at(7000), 5000L, false, null, 4L, false));
		assertThat(fault.boundMillis()).isEqualTo(6250);
		assertThat(fault.counts()).isTrue();
		this.terms.ended(1, Reports.START.plusMillis(2001), true);
		assertThat(update(8000).outcome())
			.isEqualTo(new DemoState.Outcome("node-2", false, Reports.at(7000), 5000L, false, 0L, 4L, true));
	}

	@Test
	void doesNotAttributeFailoverToSupersededFault() {
		act(Action.FREEZE, this.first, 2000);
		act(Action.THAW, this.first, 4000);
		see(1, 4900, Reports.granted("1", 1000));
		act(Action.KILL, this.first, 5000);
		this.terms.ended(1, Reports.START.plusMillis(5001), false);
		see(2, 5300, Reports.granted("2", 5200));
		DemoState.FaultView kill = update(6000);
		assertThat(kill.outcome())
			.isEqualTo(new DemoState.Outcome("node-2", false, Reports.at(5200), 200L, false, 0L, 4L, true));
		assertThat(this.faults.views()).extracting(DemoState.FaultView::overtakenBy).containsExactly(null, 3, 2);
		assertThat(this.faults.views()).extracting(DemoState.FaultView::counts).containsExactly(true, false, false);
		assertThat(this.faults.views().get(2).outcome()).isNull();
	}

	@Test
	void doesNotAttributeFailoverToLaterFault() {
		// The grant is known only later
		act(Action.FREEZE, this.first, 2000);
		this.terms.ended(1, Reports.START.plusMillis(1500), false);
		see(2, 2100, Reports.granted("2", 1800));
		assertThat(update(8000).outcome()).isNull();
		see(2, 8500, Reports.granted("2", 1800));
		assertThat(update(9000).outcome())
			.isEqualTo(new DemoState.Outcome("node-2", false, null, null, false, 0L, null, true));
	}

	@Test
	void reportsNoChangeOnlyIfTheTermIsTheSame() {
		see(2, 1200);
		act(Action.FREEZE, this.second, 2000);
		given(this.database.missingSince(any())).willReturn(0L);
		see(1, 9000, Reports.granted("1", 1000));
		assertThat(update(9000).outcome())
			.isEqualTo(new DemoState.Outcome("node-1", true, null, null, false, 0L, 0L, true));
		assertThat(update(9000).boundMillis()).isNull();
	}

	@Test
	void reportsChangeIfAnotherNodeLeads() {
		see(2, 1200);
		act(Action.FREEZE, this.second, 2000);
		act(Action.KILL, this.first, 3000);
		// The end of the first is not known: neither is an overlap
		see(3, 3400, Reports.granted("3", 3300));
		see(3, 8500, Reports.granted("3", 3300));
		update(9000);
		DemoState.FaultView freeze = this.faults.views().get(1);
		assertThat(freeze.overtakenBy()).isNull();
		assertThat(freeze.outcome())
			.isEqualTo(new DemoState.Outcome("node-3", false, null, null, false, null, null, true));
	}

	@Test
	void reportsWhenThawedLeaderNoticedAndNothingBefore() {
		act(Action.FREEZE, this.first, 2000);
		see(2, 7100, Reports.granted("2", 7000));
		update(7200);
		act(Action.THAW, this.first, 9000);
		assertThat(update(9100).outcome()).isNull();
		see(2, 9200, Reports.granted("2", 7000));
		see(1, 9200, Reports.granted("1", 1000), Reports.revoked("1", 9050, "lease_expired"));
		assertThat(update(9300).outcome())
			.isEqualTo(new DemoState.Outcome("node-2", true, null, 50L, true, 0L, null, true));
		assertThat(this.faults.views().get(1).outcome())
			.isEqualTo(new DemoState.Outcome("node-2", false, Reports.at(7000), 5000L, false, 0L, 4L, true));
	}

	@Test
	void doesNotTreatThawOfFollowerAsThatOfLeader() {
		act(Action.FREEZE, this.first, 2000);
		assertThat(this.faults.ledWhenFaulted(Action.FREEZE, this.first)).isNotNull();
		act(Action.THAW, this.first, 2500);
		act(Action.RESIGN, this.first, 3000);
		see(2, 3100, Reports.granted("2", 3050));
		see(1, 3100, Reports.granted("1", 1000), Reports.revoked("1", 3040, "resigned"));
		act(Action.FREEZE, this.first, 4000);
		assertThat(this.faults.ledWhenFaulted(Action.FREEZE, this.first)).isNull();
	}

	@Test
	void doesNotReportSilentLeaderAsLeading() {
		see(2, 1200);
		act(Action.FREEZE, this.first, 2000);
		act(Action.KILL, this.second, 3000);
		assertThat(update(5000).outcome()).isNull();
		see(3, 7200, Reports.granted("3", 7100));
		assertThat(update(8000).outcome())
			.isEqualTo(new DemoState.Outcome("node-3", false, null, null, false, null, null, true));
		// The second may have been the next leader
		DemoState.FaultView freeze = this.faults.views().get(1);
		assertThat(freeze.outcome().millis()).isEqualTo(5100);
		assertThat(freeze.counts()).isFalse();
		assertThat(freeze.boundMillis()).isNull();
	}

	@Test
	void countsNoMissingTicksWithoutLeader() {
		act(Action.KILL, this.first, 2000);
		this.terms.ended(1, Reports.START.plusMillis(2001), false);
		act(Action.KILL, this.second, 3000);
		assertThat(update(5000).outcome())
			.isEqualTo(new DemoState.Outcome(null, false, null, null, false, 0L, null, true));
	}

	@Test
	void reportsNoLeaderIfNoOtherNodeCouldLead() {
		ObservedTerm led = this.terms.current();
		this.faults.add(Action.KILL, this.first, Reports.START.plusMillis(2000), led, led,
				Expectation.of(Action.KILL, SETTINGS, true, Expectation.Others.NONE, false));
		this.terms.ended(1, Reports.START.plusMillis(2001), false);
		assertThat(update(4000).outcome())
			.isEqualTo(new DemoState.Outcome(null, false, null, null, false, 0L, null, true));
		see(2, 60_100, Reports.granted("2", 60_000));
		assertThat(update(60_200).outcome().leader()).isNull();
	}

	@Test
	void doesNotReportFrozenNodeAsLeadingIfNoOtherNodeCouldLead() {
		ObservedTerm led = this.terms.current();
		this.faults.add(Action.FREEZE, this.first, Reports.START.plusMillis(2000), led, led,
				Expectation.of(Action.FREEZE, SETTINGS, true, Expectation.Others.NONE, false));
		assertThat(update(9000).outcome())
			.isEqualTo(new DemoState.Outcome(null, false, null, null, false, 0L, null, true));
	}

	@ParameterizedTest
	@CsvSource({ "KILL, READY, false, 1000", "KILL, READY, true, 6250", "KILL, HINDERED, false, 6000",
			"FREEZE, READY, false, 6250", "FREEZE, HINDERED, false, 11250", "CUT, READY, false, 6250",
			"RESIGN, READY, false, 1000", "RESIGN, READY, true, 6250", "END, READY, false, 1000" })
	void expectsLeaderWithinBound(Action action, Expectation.Others others, boolean cut, long bound) {
		assertThat(Expectation.of(action, SETTINGS, true, others, cut).bound()).isEqualTo(Duration.ofMillis(bound));
		assertThat(Expectation.of(action, SETTINGS, true, Expectation.Others.NONE, cut).bound()).isNull();
		assertThat(Expectation.of(action, SETTINGS, false, others, cut).bound()).isNull();
	}

	@ParameterizedTest
	@CsvSource({ "KILL, READY, false, 7200", "KILL, READY, true, 7200", "KILL, HINDERED, false, 7200",
			"FREEZE, HINDERED, false, 7200", "CUT, READY, false, 7200", "RESIGN, READY, false, 1000",
			"RESIGN, READY, true, 7200", "END, READY, false, 7200" })
	void expectsLeaderByTheTableWithinBound(Action action, Expectation.Others others, boolean cut, long bound) {
		Expectation expectation = Expectation.of(action, TABLE, true, others, cut);
		assertThat(expectation.bound()).isEqualTo(Duration.ofMillis(bound));
		assertThat(expectation.text()).doesNotContain("takeover delay", "queue");
		assertThat(Expectation.of(action, TABLE, true, Expectation.Others.NONE, cut).bound()).isNull();
	}

	@Test
	void reconnectionOnlyEndsLeadershipByTheLock() {
		assertThat(cut(SETTINGS).text())
			.endsWith("Reconnecting resets its connections, which also ends its leadership");
		assertThat(cut(TABLE).text()).endsWith("If it is reconnected before that, it continues to lead");
		assertThat(Expectation.of(Action.RECONNECT, TABLE, true, Expectation.Others.READY, true).text())
			.startsWith("continues to lead if its lease has not expired");
		assertThat(Expectation.of(Action.RECONNECT, TABLE, false, Expectation.Others.READY, true).text())
			.startsWith("is a candidate again");
	}

	private static Expectation cut(Expectation.Settings settings) {
		return Expectation.of(Action.CUT, settings, true, Expectation.Others.READY, false);
	}

	private static Expectation.Settings settings(Store store) {
		return new Expectation.Settings(store, Duration.ofSeconds(5));
	}

	private static NodeProcess node(String name, long pid) {
		NodeProcess node = mock();
		given(node.name()).willReturn(name);
		given(node.pid()).willReturn(pid);
		return node;
	}

	private void act(Action action, NodeProcess node, int millis) {
		ObservedTerm before = this.terms.current();
		ObservedTerm led = action.isRecovery() ? this.faults.ledWhenFaulted(action.undone(), node)
				: (before != null && before.pid == node.pid()) ? before : null;
		this.faults.add(action, node, Reports.START.plusMillis(millis), led, before,
				Expectation.of(action, SETTINGS, led != null, Expectation.Others.READY, false));
	}

	/**
	 * Update the outcomes of all faults, and return the latest.
	 */
	private DemoState.FaultView update(int millis) {
		this.faults.update(Map.of(this.first, view(1), this.second, view(2)), Reports.START.plusMillis(millis));
		return this.faults.views().get(0);
	}

	private NodeView view(long pid) {
		NodeObservation observation = this.observations.get(pid);
		return new NodeView(pid, observation, observation == null);
	}

	private void see(long pid, int millis, String... transitions) {
		NodeObservation observation = Reports.report(millis, NodeMetrics.NONE, transitions);
		this.observations.put(pid, observation);
		this.terms.seen("node-" + pid, pid, observation);
	}

}
