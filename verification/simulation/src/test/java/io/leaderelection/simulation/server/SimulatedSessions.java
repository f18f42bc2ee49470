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

package io.leaderelection.simulation.server;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Sessions on the simulated server.
 */
final class SimulatedSessions implements ComparedSessions {

	private final VirtualTime time = new VirtualTime();

	private final SimServer server;

	private final long lockTimeoutMillis;

	private final Map<Integer, Backend> backends = new HashMap<>();

	private final Map<Integer, Integer> sessions = new HashMap<>();

	private final TreeMap<Integer, String> answers = new TreeMap<>();

	SimulatedSessions(Random random, ServerSettings settings, long lockTimeoutMillis) {
		this.server = new SimServer(this.time, new ServerClock(this.time, 1, 0), () -> random.nextInt(1000), settings);
		this.lockTimeoutMillis = lockTimeoutMillis;
	}

	@Override
	public SortedMap<Integer, String> run(Operation operation) {
		this.answers.keySet().removeIf((session) -> !this.answers.get(session).equals(WAITS));
		int session = operation.session();
		switch (operation.kind()) {
			case CONNECT -> connect(session);
			case DISCONNECT -> this.backends.get(session).disconnect();
			case TERMINATE -> this.server.terminate(this.backends.get(session).pid());
			case CANCEL -> this.server.cancel(this.backends.get(session).pid());
			default -> submit(operation, operation.statement());
		}
		while (this.time.runNext()) {
			continue;
		}
		if (operation.kind() == Operation.Kind.DISCONNECT) {
			this.answers.remove(session);
		}
		return new TreeMap<>(this.answers);
	}

	private void connect(int session) {
		Backend backend = this.server.connect("session " + session, "postgres", (end) -> {
			if (end == SessionEnd.TERMINATED) {
				this.answers.replace(session, ENDED);
			}
		});
		this.backends.put(session, backend);
		this.sessions.put(backend.pid(), session);
		if (session == RealSessions.IMPATIENT) {
			backend.submit(Statements.set(Timeout.LOCK, this.lockTimeoutMillis, false), (reply) -> {
			});
		}
	}

	private <T> void submit(Operation operation, Statement<T> statement) {
		this.answers.put(operation.session(), WAITS);
		this.backends.get(operation.session())
			.submit(statement, (reply) -> this.answers.put(operation.session(), say(operation, reply)));
	}

	private static String say(Operation operation, Reply<?> reply) {
		if (reply.error() != null) {
			return reply.error().state();
		}
		return operation.hasResult() ? String.valueOf(reply.result()) : "done";
	}

	@Override
	public SortedSet<String> locks() {
		TreeSet<String> locks = new TreeSet<>();
		this.server.visitLocks((key, mode, pid, granted) -> locks
			.add(RealSessions.describe(this.sessions.get(pid), key, mode, granted)));
		return locks;
	}

	@Override
	public String endings() {
		return Scene.endings(this.server.endings().killed(), this.server.endings().fatal());
	}

	@Override
	public void close() {
	}

}
