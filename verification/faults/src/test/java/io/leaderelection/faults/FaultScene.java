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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FencedWriter.Place;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a fault acts on, and what has come of it. How long a fault lasts, and where in a
 * message or a transaction it hits, is up to chance in a soak.
 */
final class FaultScene implements AutoCloseable {

	/** The longest that a node waits before it tries to connect again. */
	static final Duration BACKOFF = Duration.ofSeconds(5);

	/** After how long a delay was reported. */
	private static final Duration REPORT = Duration.ofSeconds(1);

	/** How long it may take until all processes of a server have their signal. */
	private static final Duration INJECTING = Duration.ofSeconds(1);

	/** From a crash of a leader to the next grant with a table, beside the lease. */
	private static final Duration TABLE_TAKEOVER = Duration.ofMillis(1200);

	/**
	 * From the end of the listeners to the next grant with a table. With a direct
	 * connection it takes no more than 50 milliseconds, but a busy machine does not allow
	 * to assert that: that figure belongs to the benchmarks.
	 */
	private static final Duration TABLE_HAND_OVER = Duration.ofMillis(1200);

	private static final Duration HOLDING = Duration.ofSeconds(3);

	private final Cluster cluster;

	private final SplittableRandom random;

	private final List<AutoCloseable> resources = new ArrayList<>();

	private NodeProcess leader;

	private NodeProcess target;

	private NodeProcess other;

	private Term term;

	private Entry held;

	private Entry next;

	private ServerLog log;

	private boolean quiet;

	private long at;

	private long injected;

	/**
	 * Create the scene of a test.
	 */
	FaultScene(Cluster cluster) {
		this.cluster = cluster;
		this.random = null;
		markLog();
	}

	/**
	 * Create a scene of a soak, in which the leader or another node is the target.
	 */
	FaultScene(Cluster cluster, SplittableRandom random) {
		this.cluster = cluster;
		this.random = random;
		this.leader = cluster.awaitLeader();
		this.term = this.leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		List<NodeProcess> nodes = cluster.nodes();
		this.target = (random.nextInt(10) < 7) ? this.leader : nodes.get(random.nextInt(nodes.size()));
	}

	/**
	 * Bring about what the fault requires.
	 */
	void arrange(Fault fault, NodeProcess leader) {
		this.leader = leader;
		this.target = leader;
		fault.arrangement.take(this);
		if (fault.place != null) {
			this.held = this.cluster.hold(this.target, fault.place);
		}
		this.term = this.cluster.newestTerm();
	}

	void inject(Fault fault) {
		this.at = System.nanoTime();
		fault.injection.take(this);
		this.injected = System.nanoTime();
	}

	/**
	 * Inject a fault of a soak, and undo it.
	 */
	void play(Fault fault) throws InterruptedException {
		if (fault.place != null) {
			this.target = this.leader;
			holdSomewhere();
		}
		inject(fault);
		if (fault.isHealed()) {
			pause(Duration.ZERO);
			fault.healing.take(this);
		}
		if (fault.replaces) {
			this.target.awaitEnd();
		}
		if (fault.place != null && this.target.isAlive()) {
			this.target.command("release");
		}
		if (fault.endsSession) {
			awaitEndOfSession();
		}
	}

	/**
	 * In a soak, a further fault before the leader has noticed the end of its session
	 * would be the one thing that is not guarded against.
	 */
	void awaitEndOfSession() {
		if (this.random != null && hitsLeader() && !this.cluster.isTable()) {
			this.target.await(Kind.TRUE_UNTIL, this.term);
		}
	}

	private void holdSomewhere() {
		Place[] places = Place.values();
		long from = System.nanoTime();
		this.target.command("hold " + places[this.random.nextInt(places.length)]);
		try {
			this.target.await(Kind.HELD, from, HOLDING);
		}
		catch (AssertionError ex) {
			// It no longer leads, or its writer has a fault of its own: still a valid
			// test
		}
		if (this.random.nextInt(4) == 0) {
			this.target.command("release");
		}
	}

	/**
	 * Let the fault last for that long, or for up to two leases in a soak.
	 */
	void pause(Duration duration) throws InterruptedException {
		Thread.sleep((this.random != null) ? this.random.nextLong(2 * lease(1).toMillis()) : duration.toMillis());
	}

	/**
	 * Return this duration, or up to half a lease in a soak.
	 */
	Duration some(Duration duration) {
		return (this.random != null) ? Duration.ofMillis(this.random.nextLong(lease(1).toMillis() / 2)) : duration;
	}

	/**
	 * Cut the link within a message, after that many bytes.
	 */
	void cutInMessage(Direction direction, int bytes) {
		int most = (direction == Direction.TO_CLIENT) ? 300 : 1500;
		proxy().cutInMessage(direction, (this.random != null) ? this.random.nextInt(most) : bytes);
	}

	/**
	 * Hit the server, and so the leader in any case.
	 */
	PostgreSqlServer hitServer() {
		this.cluster.withServerFaults();
		this.target = this.leader;
		return this.cluster.server();
	}

	/**
	 * Let the server end the session of the target. A soak also hits nodes that have
	 * none.
	 */
	void terminateSession() {
		if (this.random != null) {
			this.cluster.terminateSessions(this.target);
		}
		else {
			this.cluster.terminateSession(this.target);
		}
	}

	void signalSession(String signal) {
		for (int pid : this.cluster.pids(this.target)) {
			try {
				this.cluster.server().signalBackend(pid, signal);
			}
			catch (IllegalArgumentException ex) {
				// It has ended meanwhile
			}
		}
	}

	Cluster cluster() {
		return this.cluster;
	}

	/**
	 * Return that many leases.
	 */
	Duration lease(double times) {
		return Duration.ofMillis((long) (times * this.cluster.lease().toMillis()));
	}

	NodeProcess target() {
		return this.target;
	}

	void target(NodeProcess node) {
		this.target = node;
	}

	boolean hitsLeader() {
		return this.target == this.leader;
	}

	/**
	 * A second node that has a part in the fault.
	 */
	NodeProcess other() {
		return this.other;
	}

	NodeProcess other(NodeProcess node) {
		this.other = node;
		return node;
	}

	TcpProxy proxy() {
		return this.cluster.proxy(this.target);
	}

	/** The transaction that is held. */
	Entry held() {
		return this.held;
	}

	ServerLog log() {
		return this.log;
	}

	/**
	 * Take no notice of what was logged so far.
	 */
	void markLog() {
		this.log = this.cluster.isLogged() ? new ServerLog(this.cluster.server()) : null;
	}

	/** When the fault was injected. */
	long at() {
		return this.at;
	}

	Entry next() {
		return this.next;
	}

	/**
	 * Close something at the end.
	 */
	<T extends AutoCloseable> T closing(T resource) {
		this.resources.add(resource);
		return resource;
	}

	/**
	 * Wait until another term than that of the fault begins.
	 */
	void awaitNext() {
		this.next = this.cluster.awaitNext(this.term);
	}

	Optional<Entry> stepDown() {
		return this.target.find(Kind.TRUE_UNTIL, this.term);
	}

	/**
	 * The next leader was there as soon as the crash of a leader is noticed.
	 */
	void nextPromptly() {
		if (this.cluster.isTable()) {
			assertNext(this.at, lease(1).plus(TABLE_TAKEOVER));
		}
		else {
			nextWithin(this.cluster.takeoverDelay());
		}
	}

	/**
	 * The old leader trusted its lease for that many leases, of either store, and the
	 * next one was there then.
	 */
	void nextAfter(double leases, double leasesWithTable) {
		if (this.cluster.isTable()) {
			assertNext(this.at, lease(leasesWithTable).plus(TABLE_TAKEOVER));
			steppedDownWithin(lease(leasesWithTable));
		}
		else {
			nextWithin(lease(leases).plus(this.cluster.takeoverDelay()));
			steppedDownWithin(lease(leases));
		}
	}

	/**
	 * The next leader was there as soon as the old one had handed over, without a line in
	 * the log of the server, also when the old one ends.
	 */
	void handedOver() {
		if (this.cluster.isTable()) {
			assertNext(this.target.await(Kind.REVOKED_ENDED, this.term).time(), TABLE_HAND_OVER);
		}
		else {
			nextWithin(Duration.ZERO);
		}
		this.quiet = true;
	}

	/**
	 * A node leads as soon as sessions can be opened again. A leader with a session has
	 * noticed in any case when its trust had run out.
	 */
	void nextAfterRecovery() {
		if (!this.cluster.isTable()) {
			steppedDownWithin(lease(0.75).plus(INJECTING));
		}
		assertThat(Duration.ofNanos(this.next.time() - this.injected)).isLessThan(BACKOFF.plus(FaultRuns.SLACK));
	}

	/**
	 * The next leader was there within a time.
	 */
	void nextWithin(Duration bound) {
		assertThat(elapsed()).isLessThan(bound.plus(FaultRuns.SLACK));
	}

	/**
	 * The next leader was not exempted from the takeover delay.
	 */
	void nextNotBeforeTakeoverDelay() {
		assertThat(elapsed()).isGreaterThanOrEqualTo(this.cluster.takeoverDelay());
	}

	private Duration elapsed() {
		return Duration.ofNanos(this.next.time() - this.at);
	}

	/**
	 * The next leader was there within a time, apart from delays of its threads.
	 */
	private void assertNext(long from, Duration bound) {
		long time = this.next.time() - from;
		// A node reports a delay after it
		Awaitility.await().atMost(REPORT).untilAsserted(() -> {
			long delayed = this.cluster.history().delayed(this.next.node(), from, this.next.time());
			assertThat(Duration.ofNanos(time - delayed))
				.as("%s after %s, of which it was delayed for %s", this.next, Duration.ofNanos(time),
						Duration.ofNanos(delayed))
				.isLessThan(bound);
		});
	}

	/**
	 * The old leader stepped down within a time, by its own record.
	 */
	void steppedDownWithin(Duration bound) {
		Entry lastTrue = this.target.await(Kind.TRUE_UNTIL, this.term);
		assertThat(Duration.ofNanos(lastTrue.time() - this.at)).isLessThan(bound);
	}

	/**
	 * The old leader did not need to wait for the end of its lease.
	 */
	void steppedDownPromptly() {
		Duration lease = this.cluster.lease();
		boolean waits = this.cluster.isTable() || lease.compareTo(FaultRuns.SLACK) < 0;
		steppedDownWithin(waits ? lease : FaultRuns.SLACK);
	}

	/**
	 * The old leader notified its listeners.
	 */
	Entry revoked() {
		return this.target.await(Kind.REVOKED, this.term);
	}

	/**
	 * The old leader notified its listeners, with this reason. With a table, its lease
	 * expires instead of its session.
	 */
	void revokedBecause(String reason) {
		boolean expires = this.cluster.isTable() && reason.equals("SESSION_LOST");
		assertThat(revoked().details()).isEqualTo(expires ? "LEASE_EXPIRED" : reason);
	}

	/**
	 * Return how the held transaction ended.
	 */
	String heldEnded() {
		Entry ended = this.target.await(Kind.HELD_ENDED, this.held.requiredTerm());
		assertThat(this.cluster.isCommitted(this.held)).isEqualTo(ended.details().endsWith(" committed"));
		return ended.details();
	}

	/**
	 * Nothing recorded so far violates a guarantee.
	 */
	void verify() {
		this.cluster.verify();
		if (this.log != null && this.quiet) {
			this.log.verifyQuiet();
		}
		else if (this.log != null) {
			this.log.verifyOneLinePerDeadSession();
		}
	}

	@Override
	public void close() {
		Step<AutoCloseable> close = AutoCloseable::close;
		this.resources.forEach(close::take);
	}

}
