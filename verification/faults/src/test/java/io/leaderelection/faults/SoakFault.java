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

import java.sql.Connection;
import java.time.Duration;
import java.util.List;

import io.leaderelection.testsupport.Direction;
import org.awaitility.Awaitility;

/**
 * What a soak does to nodes, network and server. Each fault has been healed when its
 * injection returns; what it has broken may need a while longer.
 */
enum SoakFault {

	KILL((scene) -> {
		scene.target().signal("KILL");
		scene.target().awaitEnd();
	}),

	TERMINATE((scene) -> {
		scene.target().signal("TERM");
		scene.target().awaitEnd();
	}),

	STOP((scene) -> {
		scene.target().command("stop");
		scene.target().awaitEnd();
	}),

	RESIGN((scene) -> scene.leader().command("resign")),

	REQUEST_RESIGNATION((scene) -> scene.target().command("request")),

	FREEZE((scene) -> {
		scene.target().signal("STOP");
		scene.pause();
		scene.target().signal("CONT");
	}),

	FREEZE_IN_TRANSACTION((scene) -> scene.inTransaction((held) -> {
		held.leader().signal("STOP");
		held.pause();
		held.leader().signal("CONT");
	})),

	KILL_IN_TRANSACTION((scene) -> scene.inTransaction((held) -> {
		held.leader().signal("KILL");
		held.leader().awaitEnd();
	})),

	RESIGN_IN_TRANSACTION((scene) -> scene.inTransaction((held) -> {
		held.leader().command("resign");
		held.pause();
	})),

	PARTITION_IN_TRANSACTION((scene) -> scene.inTransaction((held) -> {
		held.leaderProxy().blackHole();
		held.pause();
		held.leaderProxy().heal();
	})),

	HOLD_IN_TRANSACTION((scene) -> scene.inTransaction((held) -> {
		held.leaderProxy().hold();
		held.pause();
		held.leaderProxy().release();
	})),

	TERMINATE_BACKEND_IN_TRANSACTION((scene) -> scene.inTransaction((held) -> {
		held.cluster()
			.pids(held.leader())
			.forEach((pid) -> held.server().query("SELECT pg_terminate_backend(" + pid + ")"));
		held.awaitEndOfAllSessions();
		held.pause();
	})),

	FREEZE_AND_RESIGN((scene) -> {
		scene.target().command("resign");
		scene.target().signal("STOP");
		scene.pause();
		scene.target().signal("CONT");
	}),

	PARTITION((scene) -> {
		scene.proxy().blackHole();
		scene.pause();
		scene.proxy().heal();
	}),

	PARTITION_TO_SERVER((scene) -> {
		scene.proxy().blackHole(Direction.TO_SERVER);
		scene.pause();
		scene.proxy().heal();
	}),

	PARTITION_TO_NODE((scene) -> {
		scene.proxy().blackHole(Direction.TO_CLIENT);
		scene.pause();
		scene.proxy().heal();
	}),

	HOLD((scene) -> {
		scene.proxy().hold();
		scene.pause();
		scene.proxy().release();
	}),

	HOLD_REPLIES((scene) -> {
		scene.proxy().hold(Direction.TO_CLIENT);
		scene.pause();
		scene.proxy().release();
	}),

	HOLD_REPLIES_AND_FREEZE((scene) -> {
		scene.proxy().hold(Direction.TO_CLIENT);
		scene.pause();
		scene.target().signal("STOP");
		scene.proxy().release();
		scene.pause();
		scene.target().signal("CONT");
	}),

	SLOW_LINK((scene) -> {
		scene.proxy().delay(scene.fractionOfLease(), scene.fractionOfLease());
		scene.pause();
		scene.pause();
		scene.proxy().delay(Duration.ZERO, Duration.ZERO);
	}),

	RESET((scene) -> {
		scene.proxy().reset();
		scene.awaitEndOfSession();
	}),

	RESET_AND_SILENCE((scene) -> {
		scene.proxy().acceptWithoutAnswer();
		scene.proxy().reset();
		scene.awaitEndOfSession();
		scene.pause();
		scene.proxy().heal();
	}),

	HALF_REPLY((scene) -> {
		scene.proxy().cutInMessage(Direction.TO_CLIENT, scene.random().nextInt(300));
		scene.pause();
		scene.proxy().heal();
	}),

	HALF_REQUEST((scene) -> {
		scene.proxy().cutInMessage(Direction.TO_SERVER, scene.random().nextInt(1500));
		scene.pause();
		scene.proxy().heal();
	}),

	TERMINATE_BACKEND((scene) -> {
		scene.eachPid("SELECT pg_terminate_backend(%d)");
		scene.awaitEndOfSession();
	}),

	CANCEL_BACKEND((scene) -> {
		for (int i = scene.random().nextInt(10); i >= 0; i--) {
			scene.eachPid("SELECT pg_cancel_backend(%d)");
		}
	}),

	FREEZE_BACKEND((scene) -> {
		scene.cluster().withServerFaults();
		List<Integer> pids = scene.cluster().pids(scene.target());
		scene.signal(pids, "STOP");
		scene.pause();
		scene.signal(pids, "CONT");
	}),

	CRASH_BACKEND((scene) -> {
		try (Connection other = scene.server().connect()) {
			if (scene.signal(scene.cluster().pids(scene.target()), "KILL")) {
				Awaitility.await().until(() -> !other.isValid(1));
				scene.awaitEndOfAllSessions();
				scene.awaitServer();
			}
		}
	}),

	FREEZE_SERVER((scene) -> {
		scene.cluster().withServerFaults();
		scene.server().freeze();
		scene.pause();
		scene.server().thaw();
	}),

	RESTART_FAST((scene) -> scene.restart("fast")),

	RESTART_IMMEDIATE((scene) -> scene.restart("immediate")),

	RESTART_CONTEXT((scene) -> {
		scene.target().command("pause");
		scene.pause();
		scene.target().command("continue");
	});

	private final FaultRuns.Step<SoakScene> injection;

	SoakFault(FaultRuns.Step<SoakScene> injection) {
		this.injection = injection;
	}

	void inject(SoakScene scene) {
		this.injection.take(scene);
	}

	/**
	 * Whether a proxy may reset the connection of a leader that is alive, at once or when
	 * it forwards again.
	 */
	boolean resets() {
		return switch (this) {
			case PARTITION, PARTITION_TO_SERVER, PARTITION_TO_NODE, PARTITION_IN_TRANSACTION, HALF_REPLY, HALF_REQUEST,
					RESET, RESET_AND_SILENCE ->
				true;
			default -> false;
		};
	}

}
