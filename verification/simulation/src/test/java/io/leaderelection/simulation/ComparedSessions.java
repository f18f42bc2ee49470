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

package io.leaderelection.simulation;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Sessions on a server, by their numbers or names. What each of them does runs on another
 * thread.
 *
 * @param <K> the type of the numbers or names
 */
public final class ComparedSessions<K extends Comparable<K>> implements AutoCloseable {

	/** What a session says whose statement waits for a lock. */
	public static final String WAITS = "waits";

	private static final long LIMIT_NANOS = 30_000_000_000L;

	private final ComparedServer server;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Map<K, Session> sessions = new HashMap<>();

	private final Map<Integer, K> numbers = new ConcurrentHashMap<>();

	/** The processes that are to end. */
	private final Set<Integer> ended = new HashSet<>();

	/** Those that do so when they have been granted their lock. */
	private final Set<Integer> abandoned = new HashSet<>();

	private int latestPid;

	private boolean pidsInOrder = true;

	public ComparedSessions(ComparedServer server) {
		this.server = server;
	}

	/**
	 * Begin a session, by a task that opens its connection, if it needs one.
	 */
	public void open(K number, Callable<String> task) {
		this.sessions.put(number, new Session());
		start(number, false, task);
	}

	/**
	 * Note the connection of a session, on its thread.
	 */
	public void opened(K number, Connection connection) throws SQLException {
		Session session = this.sessions.get(number);
		session.connection = connection;
		session.pid = connection.unwrap(PGConnection.class).getBackendPID();
		this.numbers.put(session.pid, number);
		this.pidsInOrder &= session.pid > this.latestPid;
		this.latestPid = session.pid;
	}

	public Connection connection(K number) {
		return this.sessions.get(number).connection;
	}

	public int pid(K number) {
		return this.sessions.get(number).pid;
	}

	/**
	 * Return the number of the session with a process id.
	 */
	public @Nullable K number(int pid) {
		return this.numbers.get(pid);
	}

	/**
	 * Return whether each session has a higher process id than those before it. Of
	 * several the lowest is named, and an operating system begins again at its limit.
	 */
	public boolean hasPidsInOrder() {
		return this.pidsInOrder;
	}

	/**
	 * Begin a task of a session.
	 * @param patient whether it waits for a lock until it has it
	 */
	public void start(K number, boolean patient, Callable<String> task) {
		Session session = this.sessions.get(number);
		session.patient = patient;
		session.answer = this.threads.submit(task);
	}

	/**
	 * Run a task of a session, and wait for all others.
	 */
	public String call(K number, Callable<String> task) throws Exception {
		start(number, false, task);
		return answers().get(number);
	}

	public boolean isBusy(K number) {
		return this.sessions.get(number).isBusy();
	}

	/**
	 * Wait for the latest task of a session, and return what it says.
	 */
	public String answer(K number) throws Exception {
		await(() -> !isBusy(number));
		return this.sessions.get(number).answer.get();
	}

	/**
	 * Close a connection.
	 * @param noticed whether the server notices it while the session waits for a lock
	 */
	public void close(K number, boolean noticed) throws SQLException {
		Session session = this.sessions.get(number);
		((noticed || session.answer == null) ? this.ended : this.abandoned).add(session.pid);
		session.answer = null;
		session.connection.abort(Runnable::run);
	}

	public void terminate(K number) throws SQLException {
		this.ended.add(this.sessions.get(number).pid);
		this.server.terminate(this.sessions.get(number).pid);
	}

	public void expire(K number) throws SQLException {
		this.ended.add(this.sessions.get(number).pid);
		this.server.expire(this.sessions.get(number).connection);
	}

	public void cancel(K number) throws SQLException {
		this.sessions.get(number).patient = false;
		this.server.cancel(this.sessions.get(number).pid);
	}

	/**
	 * Return what each session says that was busy, when all have done what they could.
	 */
	public SortedMap<K, String> answers() throws Exception {
		awaitRest();
		TreeMap<K, String> answers = new TreeMap<>();
		for (Map.Entry<K, Session> entry : this.sessions.entrySet()) {
			Future<String> answer = entry.getValue().answer;
			if (answer != null) {
				boolean done = answer.isDone();
				answers.put(entry.getKey(), done ? answer.get() : WAITS);
				entry.getValue().answer = done ? null : answer;
			}
		}
		return answers;
	}

	private void awaitRest() throws Exception {
		await(this::isAtRest);
	}

	/**
	 * Wait until something has happened on the server.
	 */
	public void await(Callable<Boolean> condition) throws Exception {
		long limit = System.nanoTime() + LIMIT_NANOS;
		while (!condition.call()) {
			if (System.nanoTime() > limit) {
				throw new AssertionError("The sessions do not come to rest");
			}
			this.server.proceed(busy());
		}
	}

	/**
	 * Return how many sessions are busy.
	 */
	public int busy() {
		return (int) this.sessions.values().stream().filter(Session::isBusy).count();
	}

	/**
	 * What is busy is read first: whatever has finished by then has its effect on what is
	 * read next.
	 */
	private boolean isAtRest() throws SQLException {
		Set<Integer> busy = new HashSet<>(this.ended);
		Set<Integer> patient = new HashSet<>(this.abandoned);
		busy.addAll(this.abandoned);
		for (Session session : this.sessions.values()) {
			if (session.isBusy()) {
				busy.add(session.pid);
				if (session.patient) {
					patient.add(session.pid);
				}
			}
		}
		patient.removeAll(this.ended);
		if (busy.isEmpty() || (patient.containsAll(busy) && this.server.waiting().containsAll(busy))) {
			return true;
		}
		Set<Integer> present = this.server.present();
		this.ended.retainAll(present);
		this.abandoned.retainAll(present);
		return false;
	}

	/**
	 * Return the locks that are held and awaited.
	 */
	public SortedSet<String> locks(KeyNames names) throws SQLException {
		TreeSet<String> locks = new TreeSet<>();
		this.server.visitLocks((key, mode, pid, granted) -> locks
			.add("session " + this.numbers.get(pid) + (granted ? " holds " : " awaits ")
					+ ((mode == LockMode.SHARE) ? "share of " : "") + names.name(key)));
		return locks;
	}

	@Override
	public void close() throws Exception {
		for (Session session : this.sessions.values()) {
			Connection connection = session.connection;
			session.answer = null;
			if (connection != null) {
				connection.abort(Runnable::run);
			}
		}
		for (int pid : this.numbers.keySet()) {
			this.server.terminate(pid);
		}
		this.ended.addAll(this.numbers.keySet());
		this.abandoned.clear();
		awaitRest();
		this.threads.shutdown();
		this.server.close();
	}

	/**
	 * Returns the name of a key.
	 */
	@FunctionalInterface
	public interface KeyNames {

		String name(LockKey key);

	}

	/**
	 * A session and its task.
	 */
	private static final class Session {

		private volatile @Nullable Connection connection;

		private volatile int pid;

		private boolean patient;

		private @Nullable Future<String> answer;

		private boolean isBusy() {
			return this.answer != null && !this.answer.isDone();
		}

	}

}
