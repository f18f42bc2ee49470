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

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Fault.Trait;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.TcpProxy;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Faults of a leader in the middle of a fenced transaction. Network faults hit the
 * transaction as well as the session of the election.
 */
final class FenceFaults extends FaultTable {

	FenceFaults() {
		fault("leader killed (kill -9) between fence and commit", signal("KILL"), holding(Place.AFTER_FENCE), prompt(),
				expect((scene) -> assertThat(scene.cluster().isCommitted(scene.held())).isFalse()), replaced(),
				inSoak(), ring(2, Topology.WRITES), ring(3, Topology.TABLE_WRITES));
		fault("leader frozen between fence and commit, thawed", signal("STOP"), holding(Place.AFTER_FENCE),
				healed(signal("CONT")), released(), notCommitted(), expires(), inSoak(), ring(2, Topology.WRITES),
				ring(3, Topology.TABLE_WRITES));
		fault("leader frozen before the fence, thawed", signal("STOP"), holding(Place.BEFORE_FENCE),
				healed(signal("CONT")), released(), refused(), expires(),
				ring(3, Topology.WRITES, Topology.TABLE_WRITES));
		fault("leader resigned between fence and commit", (scene) -> {
			scene.target().command("resign");
			scene.pause(scene.lease(0.25));
			scene.target().command("release");
		}, holding(Place.AFTER_FENCE), handedOver("RESIGNED"),
				expect((scene) -> assertThat(scene.heldEnded()).endsWith(" committed")), inSoak(),
				ring(3, Topology.WRITES, Topology.TABLE_WRITES));
		fault("session of the leader terminated before the fence", FaultScene::terminateSession,
				holding(Place.BEFORE_FENCE), released(), prompt(), refused(), lost(), inSoak(),
				ring(3, Topology.WRITES));
		cut("leader partitioned between fence and commit", proxy(TcpProxy::blackHole), healed(proxy(TcpProxy::heal)),
				inSoak(), resets(), ring(3, Topology.WRITES, Topology.TABLE_WRITES));
		cut("leader partitioned between fence and commit, late commit delivered afterwards", proxy(TcpProxy::hold),
				healed(proxy(TcpProxy::release)), inSoak(), ring(3, Topology.WRITES, Topology.TABLE_WRITES));
		// Half of the first message of a commit. Between that and the next ones no
		// timeout of the server runs, as long as it has not all of them: then the next
		// leader waits, and says so, until the connection ends
		for (int bytes : new int[] { 1, 12, 20, 24 }) {
			cut("half of a commit, " + bytes, (scene) -> scene.proxy().cutInMessage(Direction.TO_SERVER, bytes),
					healed(proxy(TcpProxy::heal)), ring(3, Topology.WRITES));
		}
		// It commits, and the next leader waits for it
		fault("session of the leader terminated while a fenced transaction is busy", FenceFaults::terminateWhileBusy,
				holding(Place.BUSY_AFTER_FENCE), expect(FenceFaults::nextWaitedForTransaction), because("SESSION_LOST"),
				ring(3, Topology.WRITES));
	}

	private void cut(String fault, Step<FaultScene> injection, Trait... traits) {
		fault(fault, (scene) -> {
			injection.take(scene);
			scene.target().command("release");
		}, holding(Place.AFTER_FENCE), notCommitted(), expires(), and(traits));
	}

	private static Trait released() {
		return expect(command("release"));
	}

	private static Trait notCommitted() {
		return expect((scene) -> assertThat(scene.heldEnded()).doesNotEndWith(" committed"));
	}

	private static Trait refused() {
		return expect((scene) -> assertThat(scene.heldEnded()).endsWith(" LeadershipLostException"));
	}

	private static void terminateWhileBusy(FaultScene scene) {
		Term term = scene.held().requiredTerm();
		scene.terminateSession();
		scene.other(scene.cluster().awaitHolder(scene.target()));
		scene.other().awaitStatus((status) -> status.contains("blockedBy=" + transaction(scene)));
		assertThat(scene.target().find(Kind.HELD_ENDED, term)).isEmpty();
		assertThat(scene.cluster().newestTerm()).isEqualTo(term);
	}

	private static void nextWaitedForTransaction(FaultScene scene) {
		assertThat(scene.heldEnded()).endsWith(" committed");
		assertThat(Duration.ofNanos(scene.next().time() - scene.held().time())).isGreaterThan(FencedWriter.BUSY);
		assertThat(scene.other().output()).anyMatch((line) -> line.contains("WARN")
				&& line.contains("but an earlier term has not ended, waiting for " + transaction(scene)));
	}

	private static String transaction(FaultScene scene) {
		return "the transaction of the session with pid " + scene.held().details().split(" ")[1];
	}

}
