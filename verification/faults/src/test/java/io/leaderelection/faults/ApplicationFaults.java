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

import java.time.Duration;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Fault.Trait;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of the application around the election: one node of the cluster behaves, and the
 * other one, which leads and is removed in the end, does not.
 */
final class ApplicationFaults extends FaultTable {

	/** Than the lease. */
	private static final Duration LONGER = Duration.ofMillis(1500);

	ApplicationFaults() {
		String blockingGrant = "faults.granted-listener=" + LONGER.toMillis() + "ms";
		fault("granted-listener blocks for longer than the lease", ApplicationFaults::awaitListener,
				leaderWith(blockingGrant), survived(0), retired(), ring(3, Topology.APPLICATION));
		fault("resigned while the granted-listener blocks for longer than the lease", command("resign"),
				leaderWith(blockingGrant), expect((scene) -> {
					long ended = scene.target().await(Kind.GRANTED_ENDED, scene.at()).time();
					assertThat(scene.target().await(Kind.REVOKED, scene.at()).time()).isGreaterThan(ended);
				}), afterListeners(LONGER), retired(), ring(3, Topology.APPLICATION));
		fault("resigned, revoked-listener blocks for longer than the lease", command("resign"),
				leaderWith("faults.revoked-listener=" + LONGER.toMillis() + "ms"),
				expect((scene) -> assertThat(lasts(scene, Kind.REVOKED, Kind.REVOKED_ENDED, scene.at()))
					.isGreaterThan(scene.lease(1))),
				afterListeners(LONGER), retired(), ring(3, Topology.APPLICATION));
		fault("resigned, listeners throw", command("resign"), leaderWith("faults.listeners-throw=true"),
				because("RESIGNED"), expect(ApplicationFaults::listenersAreNotifiedAgain),
				afterListeners(Duration.ZERO), retired(), ring(3, Topology.APPLICATION));
		fault("stopped, work takes longer than the lease", (scene) -> {
			scene.target().await(Kind.WORK, Long.MIN_VALUE);
			scene.target().command("stop");
		}, leaderWith("faults.work=" + LONGER.toMillis() + "ms"), because("STOPPED"),
				expect(ApplicationFaults::workIsDrained), afterListeners(LONGER), removed(),
				ring(2, Topology.APPLICATION));
		fault("only thread of the scheduler blocked for a lease, stopped", (scene) -> {
			scene.target().await(Kind.BLOCKED, Long.MIN_VALUE);
			scene.pause(scene.lease(1));
			scene.target().command("stop");
		}, leaderWith("faults.scheduler-blocked=true", "spring.task.scheduling.pool.size=1"), because("STOPPED"),
				expect(ApplicationFaults::nothingWorksWhileTheSchedulerIsBlocked), afterListeners(Duration.ZERO),
				removed(), ring(3, Topology.APPLICATION));
		fault("context of the leader paused and continued", command("pause"), leaderWith(), healed(command("continue")),
				handedOver("STOPPED"), expect(ApplicationFaults::isPausedAndLeadsAgain), inSoak(), retired(),
				ring(3, Topology.APPLICATION));
	}

	/**
	 * A further node with these properties leads.
	 */
	private static Trait leaderWith(String... properties) {
		return arranged((scene) -> {
			List<NodeProcess> nodes = scene.cluster().start(1, properties).nodes();
			scene.target(nodes.get(nodes.size() - 1));
			makeLeader(scene.cluster(), scene.target());
		});
	}

	private static void makeLeader(Cluster cluster, NodeProcess node) {
		while (cluster.awaitLeader() != node) {
			cluster.awaitSuccessor();
			// Two nodes that have both just resigned may become candidates again in any
			// order
			cluster.awaitHeadOfQueue();
		}
	}

	private static Trait removed() {
		return expect((scene) -> scene.cluster().remove(scene.target()));
	}

	private static Trait retired() {
		return and(expect(command("stop")), expect((scene) -> scene.target().await(Kind.STOPPED, Long.MIN_VALUE)),
				removed());
	}

	/**
	 * The next leader was there when the listeners of the old one had ended.
	 */
	private static Trait afterListeners(Duration bound) {
		return expect((scene) -> {
			scene.nextWithin(bound);
			assertThat(scene.next().time()).isGreaterThan(scene.target().await(Kind.REVOKED_ENDED, scene.at()).time());
		});
	}

	private static void awaitListener(FaultScene scene) {
		assertThat(lasts(scene, Kind.GRANTED, Kind.GRANTED_ENDED, Long.MIN_VALUE)).isGreaterThan(scene.lease(1));
	}

	/**
	 * How long something took that has begun after the given time.
	 */
	private static Duration lasts(FaultScene scene, Kind from, Kind to, long after) {
		long began = scene.target().await(from, after).time();
		return Duration.ofNanos(scene.target().await(to, began).time() - began);
	}

	/**
	 * The node may lead again.
	 */
	private static void listenersAreNotifiedAgain(FaultScene scene) {
		scene.cluster().awaitHeadOfQueue();
		scene.cluster().node(scene.next().node()).command("resign");
		scene.target().await(Kind.GRANTED_ENDED, scene.next().time());
		assertThat(scene.target().output())
			.anyMatch((line) -> line.contains("A listener of LeadershipGrantedEvent failed"))
			.anyMatch((line) -> line.contains("A listener of LeadershipRevokedEvent failed"));
	}

	private static void workIsDrained(FaultScene scene) {
		Entry work = scene.target().last(Kind.WORK).orElseThrow();
		Entry ended = scene.target().await(Kind.WORK_ENDED, scene.at());
		assertThat(ended.details()).isEqualTo(work.details());
		assertThat(Duration.ofNanos(ended.time() - work.time())).isGreaterThanOrEqualTo(LONGER);
		assertThat(scene.next().time()).isGreaterThan(ended.time());
	}

	private static void nothingWorksWhileTheSchedulerIsBlocked(FaultScene scene) {
		long blocked = scene.target().await(Kind.BLOCKED, Long.MIN_VALUE).time();
		assertThat(scene.target().find(Kind.WORK, blocked)).isEmpty();
	}

	private static void isPausedAndLeadsAgain(FaultScene scene) {
		makeLeader(scene.cluster().awaitSessions(), scene.target());
		Term term = scene.cluster().newestTerm();
		scene.target().command("pause");
		scene.cluster().awaitNext(term);
		scene.target().command("continue");
		makeLeader(scene.cluster().awaitSessions(), scene.target());
		scene.target().await(Kind.WORK, scene.target().last(Kind.TRUE_FROM).orElseThrow().time());
	}

}
