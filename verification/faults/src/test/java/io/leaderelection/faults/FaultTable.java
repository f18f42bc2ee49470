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

package io.leaderelection.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.leaderelection.faults.Fault.Trait;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.testsupport.TcpProxy;

/**
 * Rows of the table of faults, and the words that describe them.
 */
abstract class FaultTable {

	/** A part of the name of the faults that are to run. */
	private static final String SELECTED = System.getProperty("suite.fault", "");

	private final List<Fault> rows = new ArrayList<>();

	/**
	 * Return all rows, in the order in which they run: faults of a server come last,
	 * since ages of sessions are not checked from then on.
	 */
	static List<Fault> all() {
		return Stream
			.of(new LeaderFaults(), new NetworkFaults(), new FenceFaults(), new TakeoverFaults(),
					new ApplicationFaults(), new ServerFaults())
			.flatMap((table) -> table.rows.stream())
			.filter((fault) -> fault.name.contains(SELECTED))
			.toList();
	}

	final void fault(String name, Step<FaultScene> injection, Trait... traits) {
		this.rows.add(new Fault(name, injection, traits));
	}

	/**
	 * A fault of the link between the target and the server, which is healed.
	 */
	final void link(String name, Consumer<TcpProxy> injection, Trait... traits) {
		fault(name, proxy(injection), and(healed(proxy(TcpProxy::heal)), and(traits)));
	}

	static Step<FaultScene> signal(String signal) {
		return (scene) -> scene.target().signal(signal);
	}

	static Step<FaultScene> command(String command) {
		return (scene) -> scene.target().command(command);
	}

	static Step<FaultScene> proxy(Consumer<TcpProxy> step) {
		return (scene) -> step.accept(scene.proxy());
	}

	static Trait and(Trait... traits) {
		return (fault) -> List.of(traits).forEach((trait) -> trait.addTo(fault));
	}

	/**
	 * It does not end the term of the leader.
	 * @param leases how many leases it lasts, if it does not end by itself
	 */
	static Trait survived(double leases) {
		return (fault) -> fault.survived = leases;
	}

	static Trait arranged(Step<FaultScene> arrangement) {
		return (fault) -> fault.arrangement = arrangement;
	}

	static Trait holding(Place place) {
		return (fault) -> fault.place = place;
	}

	static Trait healed(Step<FaultScene> healing) {
		return (fault) -> fault.healing = healing;
	}

	static Trait expect(Step<FaultScene> expectation) {
		return (fault) -> fault.expectations.add(expectation);
	}

	/**
	 * The next node leads as soon as the end of a session is known, of either store.
	 */
	static Trait prompt() {
		return expect(FaultScene::nextPromptly);
	}

	/**
	 * The leader notices that its session has ended.
	 */
	static Trait lost() {
		return and(expect(FaultScene::steppedDownPromptly), because("SESSION_LOST"),
				(fault) -> fault.endsSession = true);
	}

	/**
	 * The lease of the leader expires.
	 */
	static Trait expires() {
		return expires(1, 1);
	}

	/**
	 * The lease of the leader expires after that many leases, of either store.
	 */
	static Trait expires(double leases, double leasesWithTable) {
		return and(expect((scene) -> scene.nextAfter(leases, leasesWithTable)), because("LEASE_EXPIRED"));
	}

	static Trait handedOver(String reason) {
		return and(expect(FaultScene::handedOver), because(reason));
	}

	/**
	 * The next leader is there after that many leases and the takeover delay.
	 */
	static Trait within(double leases) {
		return expect((scene) -> scene.nextWithin(scene.lease(leases).plus(scene.cluster().takeoverDelay())));
	}

	static Trait because(String reason) {
		return expect((scene) -> scene.revokedBecause(reason));
	}

	/**
	 * The target ends by itself. Another node is started in its place.
	 */
	static Trait replaced() {
		return and((fault) -> fault.replaces = true,
				expect((scene) -> scene.cluster().replace(scene.target().awaitEnd())));
	}

	static Trait inSoak() {
		return (fault) -> fault.inSoak = true;
	}

	/**
	 * When healed or at once, the proxy resets a connection whose leader may be alive: no
	 * fault of a soak with fast takeover.
	 */
	static Trait resets() {
		return (fault) -> fault.resets = true;
	}

	static Trait ring(int ring, Topology... topologies) {
		return (fault) -> List.of(topologies).forEach((topology) -> fault.rings.put(topology, ring));
	}

}
