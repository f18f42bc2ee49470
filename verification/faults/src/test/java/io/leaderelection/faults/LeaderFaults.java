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

/**
 * What happens to a process that leads.
 */
final class LeaderFaults extends FaultTable {

	LeaderFaults() {
		fault("leader killed (kill -9)", signal("KILL"), prompt(), replaced(), inSoak(), ring(1, Topology.LOCK),
				ring(2, Topology.TABLE, Topology.TABLE_POOLER), ring(3, Topology.LONG_LEASE, Topology.SESSION_POOLER));
		fault("leader terminated (SIGTERM)", signal("TERM"), handedOver("STOPPED"), replaced(), inSoak(),
				ring(1, Topology.LOCK), ring(2, Topology.TABLE, Topology.TABLE_POOLER));
		fault("leader stopped", command("stop"), handedOver("STOPPED"), replaced(), inSoak(),
				ring(3, Topology.LONG_LEASE, Topology.TABLE));
		fault("leader resigned", command("resign"), handedOver("RESIGNED"), inSoak(),
				ring(2, Topology.LOCK, Topology.TABLE, Topology.TABLE_POOLER),
				ring(3, Topology.LONG_LEASE, Topology.SESSION_POOLER));
		// A request names the term of the leader that the follower has observed last
		fault("leader resigned at the request of a follower",
				(scene) -> scene.cluster().followers().get(0).command("request"),
				arranged((scene) -> scene.cluster().followers().get(0).awaitObserved(scene.target())),
				expect((scene) -> scene.nextWithin(scene.lease(1))), because("RESIGNED"), inSoak(),
				ring(2, Topology.LOCK), ring(3, Topology.TABLE));
		fault("leader resigned and frozen", (scene) -> {
			scene.target().command("resign");
			scene.target().signal("STOP");
		}, healed(signal("CONT")), within(2), expect(FaultScene::revoked), inSoak(),
				ring(3, Topology.SLOW_TAKEOVER, Topology.TABLE));
		fault("leader frozen for longer than the lease, thawed", signal("STOP"), healed(signal("CONT")), expires(),
				inSoak(), ring(1, Topology.LOCK), ring(2, Topology.TABLE, Topology.TABLE_POOLER),
				ring(3, Topology.SESSION_POOLER));
		fault("leader frozen for less than its trust", signal("STOP"), survived(0.25), healed(signal("CONT")),
				ring(2, Topology.LOCK), ring(3, Topology.TABLE));
		fault("session of the leader terminated", FaultScene::terminateSession, prompt(),
				expect(FaultScene::nextNotBeforeTakeoverDelay), lost(), inSoak(), ring(1, Topology.LOCK),
				ring(3, Topology.LONG_LEASE, Topology.SESSION_POOLER));
	}

}
