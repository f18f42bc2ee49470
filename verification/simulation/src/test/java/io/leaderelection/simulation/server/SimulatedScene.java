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
import java.util.function.BooleanSupplier;

/**
 * A {@link Scene} on the simulated server.
 */
final class SimulatedScene implements Scene {

	private final VirtualTime time = new VirtualTime();

	private final SimServer server;

	private final Map<String, Backend> backends = new HashMap<>();

	private final Map<String, String> answers = new HashMap<>();

	SimulatedScene(ServerSettings settings) {
		this.server = new SimServer(this.time, new ServerClock(this.time, 1, 0), () -> 1000, settings);
	}

	@Override
	public void connect(String session) {
		this.backends.put(session, this.server.connect(session, "postgres", (end) -> this.answers.put(session, ENDED)));
	}

	@Override
	public void start(String session, Operation operation) {
		submit(session, operation.statement(), operation.hasResult());
	}

	private <T> void submit(String session, Statement<T> statement, boolean hasResult) {
		this.answers.putIfAbsent(session, "");
		this.backends.get(session)
			.submit(statement, (reply) -> this.answers.put(session,
					(reply.error() != null) ? reply.error().state() : hasResult ? say(reply.result()) : "done"));
	}

	private static String say(Object result) {
		return (result instanceof Endings endings) ? Scene.endings(endings.killed(), endings.fatal()) : "" + result;
	}

	@Override
	public String answer(String session) {
		await(() -> !this.answers.get(session).isEmpty());
		String answer = this.answers.get(session);
		if (!answer.equals(ENDED)) {
			this.answers.remove(session);
		}
		return answer;
	}

	@Override
	public void set(String session, Timeout timeout, long millis) {
		submit(session, Statements.set(timeout, millis, false), false);
		answer(session);
	}

	@Override
	public void awaitWaiting(String session) {
		await(() -> this.server.locks().contains(awaited(session)));
	}

	private LockRow awaited(String session) {
		int pid = this.backends.get(session).pid();
		return this.server.locks()
			.stream()
			.filter((row) -> row.pid() == pid && !row.granted())
			.findFirst()
			.orElse(new LockRow(LockKey.of(0), LockMode.SHARE, 0, false));
	}

	@Override
	public void awaitLocks(String session, int count) {
		int pid = this.backends.get(session).pid();
		await(() -> this.server.locks().stream().filter((row) -> row.pid() == pid && row.granted()).count() == count);
	}

	private void await(BooleanSupplier condition) {
		while (!condition.getAsBoolean()) {
			if (!this.time.runNext()) {
				throw new AssertionError("Nothing happens any more");
			}
		}
	}

	@Override
	public void abandon(String session) {
		this.backends.get(session).disconnect();
	}

	@Override
	public void awaitGone(String session) {
		await(() -> !this.backends.get(session).isAlive());
	}

	@Override
	public void terminate(String session) {
		this.server.terminate(this.backends.get(session).pid());
	}

	@Override
	public void resetStatistics() {
		this.server.resetStatistics();
	}

	@Override
	public void freeze(String session) {
		this.backends.get(session).freeze();
	}

	@Override
	public void thaw(String session) {
		this.backends.get(session).thaw();
	}

	@Override
	public void elapse(long millis) {
		this.time.advance(millis * 1_000_000);
	}

	@Override
	public void crash() {
		this.server.crash();
		this.server.start();
	}

	@Override
	public void close() {
	}

}
