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
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Daemon;

/**
 * Writes what happens on a node to its standard output, where it survives the process.
 */
final class Recorder {

	private static final long SAMPLE_INTERVAL = Long.getLong("faults.sample-interval-nanos", 500_000);

	private static final long HEARTBEAT = 20_000_000;

	private static final long STALL = 30_000_000;

	private static final long REPORT = 1_000_000_000;

	private static final AtomicLong works = new AtomicLong();

	private Recorder() {
	}

	/**
	 * Ask over and over whether this node leads. Times are taken before the question, so
	 * that a pause between clock and question cannot make an overlap look smaller.
	 */
	static void sample(LeaderElector elector) {
		Thread sampler = Daemon.create("sampler", () -> run(elector));
		sampler.setPriority(Thread.MAX_PRIORITY);
		sampler.start();
		if (ProcessorDelays.isMeasured()) {
			ProcessorDelays.watch("leader-election",
					(thread, delay) -> write(System.nanoTime() - delay, Kind.DELAY, "-", delay + " " + thread));
		}
	}

	private static void run(LeaderElector elector) {
		Leadership seen = null;
		long samples = 0;
		long last = System.nanoTime();
		long lastTrue = last;
		long written = last;
		long reported = last;
		while (true) {
			long now = System.nanoTime();
			Leadership leadership = elector.getLeadership();
			samples++;
			if (now - last > STALL) {
				write(last, Kind.STALL, "-", Long.toString(now - last));
			}
			if (seen != null && leadership != seen) {
				write(lastTrue, Kind.TRUE_UNTIL, seen.getTerm().toString(), role(elector));
			}
			if (leadership != null) {
				lastTrue = now;
				if (leadership != seen || now - written > HEARTBEAT) {
					written = now;
					write(now, (leadership != seen) ? Kind.TRUE_FROM : Kind.TRUE_AT, leadership.getTerm().toString(),
							"");
				}
			}
			if (now - reported > REPORT) {
				reported = now;
				write(now, Kind.SAMPLES, "-", Long.toString(samples));
			}
			seen = leadership;
			last = now;
			LockSupport.parkNanos(SAMPLE_INTERVAL);
		}
	}

	private static String role(LeaderElector elector) {
		return (elector instanceof DefaultLeaderElector engine) ? engine.status().role().toString() : "";
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
		write(System.nanoTime(), kind, "-", details);
	}

	static void record(Kind kind, Term term, String details) {
		write(System.nanoTime(), kind, term.toString(), details);
	}

	/**
	 * Record an event around what a listener does.
	 */
	static void listen(LeadershipEvent event, Runnable listener) {
		String term = event.getLeadership().getTerm().toString();
		boolean granted = event instanceof LeadershipGrantedEvent;
		String details = (event instanceof LeadershipRevokedEvent revoked) ? revoked.getReason().name() : "";
		write(System.nanoTime(), granted ? Kind.GRANTED : Kind.REVOKED, term, details);
		try {
			listener.run();
		}
		finally {
			write(System.nanoTime(), granted ? Kind.GRANTED_ENDED : Kind.REVOKED_ENDED, term, details);
		}
	}

	/**
	 * Do leader work for some time, or until interrupted.
	 */
	static void work(LeaderElector elector, long nanos) {
		Leadership leadership = elector.getWorkLeadership();
		String term = (leadership != null) ? leadership.getTerm().toString() : "-";
		String number = Long.toString(works.incrementAndGet());
		long start = System.nanoTime();
		write(start, Kind.WORK, term, number);
		while (System.nanoTime() - start < nanos && !Thread.currentThread().isInterrupted()) {
			LockSupport.parkNanos(Math.max(1, nanos - (System.nanoTime() - start)));
		}
		write(System.nanoTime(), Kind.WORK_ENDED, term, number);
	}

	private static synchronized void write(long time, Kind kind, String term, String details) {
		System.out.println(Entry.MARK + Entry.format(time, kind, term, details));
		System.out.flush();
	}

}
