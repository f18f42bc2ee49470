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

import java.util.ArrayList;
import java.util.List;

import io.leaderelection.simulation.Link.Lane;
import io.leaderelection.simulation.SimulatedJdbc.Client;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.Reply;
import io.leaderelection.simulation.server.SessionEnd;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import org.jspecify.annotations.Nullable;

/**
 * A connection of a node to the server: each request and each reply is a message. A
 * request takes effect whether or not the reply arrives.
 * <p>
 * Behind a pooler in transaction mode, each request runs in another session, on the
 * server that is the primary when it arrives.
 */
public final class SimulatedConnection implements Client {

	static final String APPLICATION = "application";

	private final Scheduler scheduler;

	private final Node node;

	private final Process process;

	private final boolean ofElection;

	private final boolean pooled;

	private final Lane toServer = new Lane();

	private final Lane toClient = new Lane();

	private final List<String> notices = new ArrayList<>(1);

	private int backendPid;

	private @Nullable Backend backend;

	private @Nullable Task waiter;

	private @Nullable String broken;

	private boolean connected;

	private boolean stuck;

	private boolean endedByServer;

	private boolean resetOnServer;

	private boolean takenForGone;

	private boolean replyLost;

	private boolean closedByProxy;

	private long closesLater;

	private final long openedAt;

	private long endedAt;

	private long noticedAt = Long.MAX_VALUE;

	private SimulatedConnection(Node node, boolean ofElection, boolean pooled) {
		this.scheduler = node.world().scheduler();
		this.node = node;
		this.process = node.process();
		this.ofElection = ofElection;
		this.pooled = pooled;
		this.openedAt = this.scheduler.now();
	}

	/**
	 * Connect.
	 * @param name the name of the session
	 * @param pooled whether to a pooler in transaction mode
	 * @param timeout how long to wait, in true time
	 */
	static SimulatedConnection open(Node node, String name, boolean pooled, long timeout)
			throws BrokenException, InterruptedException {
		SimulatedConnection connection = new SimulatedConnection(node, !name.equals(APPLICATION), pooled);
		node.process().allocate();
		node.opened(connection);
		connection.connect(name, timeout);
		return connection;
	}

	private void connect(String name, long timeout) throws BrokenException, InterruptedException {
		this.scheduler.step();
		send(() -> {
			Backend accepted = this.pooled ? borrow()
					: this.node.world().server().connect(name, "application", this::ended);
			this.backend = accepted;
			if (this.pooled && accepted != null) {
				accepted.disconnect();
			}
			reply(() -> {
				if (accepted == null) {
					breaks("refused");
				}
				else {
					this.connected = true;
					this.backendPid = this.pooled ? 0 : accepted.pid();
					wake();
				}
			});
		});
		long until = this.scheduler.now() + timeout;
		while (!this.connected && this.broken == null) {
			if (this.scheduler.now() >= until) {
				close("connect timed out");
			}
			else {
				await(until, true);
				if (Thread.interrupted()) {
					close("interrupted");
					throw new InterruptedException();
				}
			}
		}
		if (this.broken != null) {
			throw new BrokenException(this.broken);
		}
	}

	@Override
	public <T> T request(Statement<T> statement, long timeout) throws SqlError, BrokenException {
		this.scheduler.step();
		this.process.allocate();
		if (this.broken != null) {
			throw new BrokenException(this.broken);
		}
		Call<T> call = new Call<>();
		send(() -> {
			Backend server = this.pooled ? borrow() : this.backend;
			if (server == null || !server.isAlive() || this.resetOnServer) {
				reply(() -> breaks("reset"));
				return;
			}
			server.submit(statement, (reply) -> {
				if (this.pooled) {
					server.disconnect();
				}
				reply(() -> {
					call.reply = reply;
					wake();
				});
			});
		});
		long until = this.scheduler.now() + timeout;
		while (call.reply == null && this.broken == null) {
			if (this.scheduler.now() >= until && !this.stuck) {
				close("read timed out");
			}
			else {
				await(this.stuck ? Long.MAX_VALUE : until, false);
			}
		}
		this.scheduler.step();
		Reply<T> reply = call.reply;
		if (reply == null) {
			throw new BrokenException(String.valueOf(this.broken));
		}
		return reply.get();
	}

	/**
	 * Take another session of a pooler.
	 */
	private @Nullable Backend borrow() {
		this.backend = this.node.world().server().connect("pooler", "application", (end) -> {
			if (!end.isByClient()) {
				reply(() -> breaks(end.toString()));
			}
		});
		return this.backend;
	}

	/**
	 * Send the first part of a request only.
	 */
	void beginRequest() {
		send(() -> {
			Backend server = this.backend;
			if (server != null && server.isAlive()) {
				server.beginRequest();
			}
		});
	}

	private void await(long until, boolean interruptible) {
		this.waiter = this.scheduler.self();
		this.scheduler.block(until, interruptible);
		this.waiter = null;
	}

	private void send(Runnable arrival) {
		this.node.link().toServer().send(this.toServer, arrival);
	}

	private void reply(Runnable arrival) {
		arrive(() -> {
			if (!this.stuck) {
				arrival.run();
			}
		});
	}

	private void arrive(Runnable arrival) {
		this.node.link().toClient().send(this.toClient, () -> {
			if (!this.process.hasEnded()) {
				arrival.run();
			}
		});
	}

	/**
	 * Break this side of the connection. The server does not learn of it.
	 */
	void reset() {
		breaks("reset");
	}

	/**
	 * Break the side of the server, as something between both sides does that forgets the
	 * connection. The server takes its client for gone. The client learns of it with the
	 * reply to its next request. A reply that it awaits never comes.
	 */
	void resetOnServer() {
		Backend server = this.backend;
		if (server != null && server.isAlive()) {
			this.resetOnServer = true;
			server.disconnect();
		}
	}

	/**
	 * A proxy in between closes the side of the server, and that of the node a little
	 * later.
	 */
	void closeByProxy(long later) {
		Backend server = this.backend;
		if (server != null && server.isAlive()) {
			this.closedByProxy = true;
			this.closesLater = later;
			server.disconnect();
		}
	}

	/**
	 * Lose the rest of a message of the server: a driver may wait for it without a
	 * timeout, and learns of nothing else but the end of the connection.
	 */
	void loseRestOfAnswer() {
		this.stuck = true;
	}

	boolean isOfElection() {
		return this.ofElection;
	}

	boolean isStuck() {
		return this.stuck;
	}

	/**
	 * The server ends the session.
	 */
	private void ended(SessionEnd end) {
		this.node.world().record(this.node, "session " + pid() + " ended by the server: " + end);
		boolean silent = end == SessionEnd.IDLE_SESSION_TIMEOUT || end == SessionEnd.IDLE_IN_TRANSACTION_TIMEOUT;
		this.endedByServer |= !end.isByClient() && (!silent || this.node.world().isClockSet());
		this.endedAt = this.scheduler.now();
		if (!end.isByClient()) {
			this.node.ended(this);
		}
		if (this.resetOnServer) {
			this.takenForGone = end.isByClient();
			this.replyLost = this.waiter != null;
			return;
		}
		Runnable notice = () -> arrive(() -> {
			this.noticedAt = this.scheduler.now();
			breaks(end.toString());
		});
		if (this.closedByProxy) {
			this.scheduler.after(this.closesLater, notice);
		}
		else {
			notice.run();
		}
	}

	@Override
	public void receive(String notice) {
		reply(() -> {
			this.notices.add(notice);
			wake();
		});
	}

	@Override
	public List<String> takeNotices(long timeout) throws BrokenException {
		this.scheduler.step();
		this.process.allocate();
		long until = this.scheduler.now() + timeout;
		while (this.notices.isEmpty() && this.broken == null && this.scheduler.now() < until) {
			await(until, false);
		}
		if (this.broken != null) {
			throw new BrokenException(this.broken);
		}
		List<String> received = List.copyOf(this.notices);
		this.notices.clear();
		return received;
	}

	private void breaks(String reason) {
		if (this.broken == null) {
			this.broken = reason;
			if (this.resetOnServer) {
				this.noticedAt = this.scheduler.now();
			}
			this.node.world().record(this.node, "connection " + pid() + " broken: " + reason);
			wake();
		}
	}

	private void wake() {
		if (this.waiter != null) {
			this.scheduler.resume(this.waiter);
		}
	}

	/**
	 * Return when this side has begun to connect.
	 */
	long openedAt() {
		return this.openedAt;
	}

	/**
	 * Return when the session has ended on the server.
	 */
	long endedAt() {
		return this.endedAt;
	}

	@Override
	public void close(String reason) {
		if (this.broken == null) {
			breaks(reason);
			disconnect();
		}
	}

	@Override
	public void abort() {
		if (this.process.hasEnded()) {
			return;
		}
		this.process.createThread();
		this.node.aborted(this);
		abortLater();
	}

	private void abortLater() {
		this.scheduler.after(this.node.random().nextLong(500_000), () -> {
			if (this.process.isFrozen()) {
				this.node.onThaw(this::abortLater);
			}
			else {
				close("aborted");
			}
		});
	}

	/**
	 * The server learns that this side has gone.
	 */
	void disconnect() {
		send(() -> {
			Backend server = this.backend;
			if (server != null && server.isAlive()) {
				server.disconnect();
			}
		});
	}

	@Override
	public boolean isBroken() {
		return this.broken != null;
	}

	public String brokenBy() {
		return String.valueOf(this.broken);
	}

	@Override
	public int backendPid() {
		return this.backendPid;
	}

	public int pid() {
		Backend known = this.backend;
		return (known != null) ? known.pid() : 0;
	}

	/**
	 * Return whether the session exists on the primary of this moment and is not ending.
	 */
	boolean hasSession() {
		return this.backend != null && !this.backend.isEnding()
				&& this.node.world().server().backend(pid()) == this.backend;
	}

	/**
	 * Return whether the server has ended the session although its node was not silent.
	 */
	boolean isEndedByServer() {
		return this.endedByServer;
	}

	/**
	 * Return whether the side of the server was broken, and only that.
	 */
	boolean isResetOnServer() {
		return this.resetOnServer;
	}

	/**
	 * Return whether the server has ended the session since it takes its client for gone,
	 * which is not so.
	 */
	boolean isTakenForGone() {
		return this.takenForGone;
	}

	/**
	 * Return whether a proxy in between has closed the connection.
	 */
	boolean isClosedByProxy() {
		return this.closedByProxy;
	}

	/**
	 * Return whether the node may await a reply of that session, which never comes.
	 */
	boolean isReplyLost() {
		return this.replyLost;
	}

	/**
	 * Return when the end of the session has reached the node.
	 */
	long noticedAt() {
		return this.noticedAt;
	}

	private static final class Call<T> {

		private @Nullable Reply<T> reply;

	}

	/**
	 * The connection is broken.
	 */
	public static final class BrokenException extends Exception {

		private static final long serialVersionUID = 1L;

		public BrokenException(String reason) {
			super(reason, null, false, false);
		}

	}

}
