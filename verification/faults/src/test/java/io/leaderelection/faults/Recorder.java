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

import java.util.Map;
import java.util.Optional;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Daemon;

/**
 * Writes what happens on a node to its standard output, where it survives the process.
 */
final class Recorder {

	private static final long REPORT = 1_000_000_000;

	private static final AtomicLong works = new AtomicLong();

	private Recorder() {
	}

	/**
	 * Sample whether this node leads.
	 */
	static void sample(LeaderElector elector) {
		Thread sampler = Daemon.create("sampler", () -> run(new Sampler(elector, Recorder::write)));
		sampler.setPriority(Thread.MAX_PRIORITY);
		sampler.start();
		if (ProcessorDelays.isMeasured()) {
			ProcessorDelays.watch("leader-election",
					(thread, delay) -> write(System.nanoTime() - delay, Kind.DELAY, null, delay + " " + thread));
		}
	}

	private static void run(Sampler sampler) {
		long reported = System.nanoTime();
		for (long samples = 1; true; samples++) {
			long now = sampler.sample();
			if (now - reported > REPORT) {
				reported = now;
				write(now, Kind.SAMPLES, null, Long.toString(samples));
			}
			LockSupport.parkNanos(Sampler.INTERVAL);
		}
	}

	/**
	 * Obey commands on the standard input, until that or the process ends.
	 * @param commands what to do on each; after {@code stop} the process ends
	 */
	static void obey(Map<String, Runnable> commands) {
		Scanner input = new Scanner(System.in);
		while (input.hasNextLine()) {
			String command = input.nextLine();
			record(Kind.COMMAND, command);
			if (!commands.containsKey(command)) {
				throw new IllegalArgumentException(command);
			}
			commands.get(command).run();
			if (command.equals("stop")) {
				record(Kind.STOPPED, "");
				System.exit(0);
			}
		}
		// The test that started this node is gone
		Runtime.getRuntime().halt(1);
	}

	static void record(Kind kind, String details) {
		record(kind, null, details);
	}

	static void record(Kind kind, Term term, String details) {
		write(System.nanoTime(), kind, term, details);
	}

	/**
	 * Record an event around what a listener does.
	 */
	static void listen(LeadershipEvent event, Runnable listener) {
		listen(event, listener, Recorder::write);
	}

	static void listen(LeadershipEvent event, Runnable listener, Consumer<Entry> entries) {
		boolean granted = event instanceof LeadershipGrantedEvent;
		String details = (event instanceof LeadershipRevokedEvent revoked) ? revoked.getReason().name() : "";
		entries.accept(entry(event.getLeadership(), granted ? Kind.GRANTED : Kind.REVOKED, details));
		try {
			listener.run();
		}
		finally {
			entries.accept(entry(event.getLeadership(), granted ? Kind.GRANTED_ENDED : Kind.REVOKED_ENDED, details));
		}
	}

	private static Entry entry(Leadership leadership, Kind kind, String details) {
		return new Entry(leadership.getNodeId(), System.nanoTime(), kind, Optional.of(leadership.getTerm()), details);
	}

	/**
	 * Do leader work for some time, or until interrupted.
	 */
	static void work(LeaderElector elector, long nanos) {
		Leadership leadership = elector.getWorkLeadership();
		Term term = (leadership != null) ? leadership.getTerm() : null;
		String number = Long.toString(works.incrementAndGet());
		long start = System.nanoTime();
		write(start, Kind.WORK, term, number);
		while (System.nanoTime() - start < nanos && !Thread.currentThread().isInterrupted()) {
			LockSupport.parkNanos(Math.max(1, nanos - (System.nanoTime() - start)));
		}
		write(System.nanoTime(), Kind.WORK_ENDED, term, number);
	}

	private static void write(long time, Kind kind, Term term, String details) {
		write(new Entry("", time, kind, Optional.ofNullable(term), details));
	}

	private static synchronized void write(Entry entry) {
		System.out.println(Entry.MARK + entry.format());
		System.out.flush();
	}

}
