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

package io.leaderelection.comparison;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.comparison.History.Kind;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.NodeJvm;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * A node: an application with one adapter and a leader-only job, in a JVM of its own.
 * Prints events with their {@link System#nanoTime()}, which on Linux is
 * {@code CLOCK_MONOTONIC}, one clock for all processes of a machine. Ends with the
 * process that has started it.
 */
public final class Node {

	/** What a line of the output starts with that reports an event. */
	static final String PREFIX = "@event ";

	private static final long SAMPLE_INTERVAL = TimeUnit.MICROSECONDS.toNanos(250);

	/** A pause between two samples that means that the process was stopped. */
	private static final long STOPPED = TimeUnit.MILLISECONDS.toNanos(200);

	private final Adapter adapter;

	private boolean led;

	private long lastTrue;

	private Node(Adapter adapter) {
		this.adapter = adapter;
	}

	/**
	 * Runs a node.
	 * @param args the class of the adapter, whether to sample and report runs, and
	 * options
	 */
	public static void main(String[] args) throws Exception {
		NodeJvm.endWithParent();
		SpringApplication application = new SpringApplication(Class.forName(args[0]));
		application.setWebApplicationType(WebApplicationType.NONE);
		application.setRegisterShutdownHook(false);
		ConfigurableApplicationContext context = application.run(Arrays.copyOfRange(args, 2, args.length));
		Node node = new Node(context.getBean(Adapter.class));
		boolean sampled = Boolean.parseBoolean(args[1]);
		Duration pause = context.getEnvironment().getProperty("pause", Duration.class, Duration.ofMillis(20));
		report(Kind.STARTED, System.nanoTime());
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			context.close();
			node.sample();
		}));
		Runnable work = sampled ? () -> report(Kind.RUN, System.nanoTime()) : () -> {
		};
		Daemon.start("work", () -> node.repeat(work, sampled ? pause : Duration.ofSeconds(1)));
		while (sampled) {
			node.sample();
			LockSupport.parkNanos(SAMPLE_INTERVAL);
		}
		Thread.currentThread().join();
	}

	private static void report(Kind kind, long time) {
		System.out.println(PREFIX + kind + " " + time);
	}

	/**
	 * Asks whether this node leads. An interval of leadership begins after the first
	 * answer and ends before the last question, so that a pause in between cannot pass
	 * for an overlap. It also ends with the last question before the process is stopped.
	 */
	private synchronized void sample() {
		long asked = System.nanoTime();
		boolean leads = this.adapter.isLeader();
		long answered = System.nanoTime();
		if (this.led && (!leads || answered - this.lastTrue > STOPPED)) {
			report(Kind.REVOKED, this.lastTrue);
			this.led = false;
		}
		if (leads && !this.led) {
			report(Kind.GRANTED, answered);
			asked = answered;
		}
		this.led = leads;
		this.lastTrue = leads ? asked : this.lastTrue;
	}

	private void repeat(Runnable work, Duration pause) {
		while (true) {
			try {
				this.adapter.runIfLeader(work);
			}
			catch (RuntimeException ex) {
				System.out.println(ex);
			}
			LockSupport.parkNanos(pause.toNanos());
		}
	}

}
