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

package io.leaderelection.benchmarks;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.testsupport.NodeJvm;
import io.leaderelection.testsupport.TcpProxy;

/**
 * The handle of a node in a JVM of its own.
 */
final class NodeProcess implements AutoCloseable {

	/**
	 * What a line of the node's output starts with that reports a time.
	 */
	static final String PREFIX = "@failover ";

	private static final long LIMIT_SECONDS = 60;

	private final String name;

	private final TcpProxy network;

	private final NodeJvm jvm;

	private final Map<Report, CompletableFuture<Long>> reports = new EnumMap<>(Report.class);

	/**
	 * Start a node.
	 * @param name its id
	 * @param network its way to the database
	 * @param arguments its command line
	 */
	NodeProcess(String name, TcpProxy network, List<String> arguments) {
		this.name = name;
		this.network = network;
		for (Report report : Report.values()) {
			this.reports.put(report, new CompletableFuture<>());
		}
		this.jvm = new NodeJvm(name, FailoverNode.class, arguments, PREFIX, this::accept);
		this.jvm.ended()
			.thenRun(() -> this.reports.values().forEach((report) -> report.completeExceptionally(this.jvm.failure())));
	}

	private void accept(String report) {
		String[] words = report.split(" ", 2);
		get(Report.valueOf(words[0])).complete(Long.valueOf(words[1]));
	}

	private CompletableFuture<Long> get(Report report) {
		CompletableFuture<Long> time = this.reports.get(report);
		if (time == null) {
			throw new IllegalArgumentException("Unknown report " + report);
		}
		return time;
	}

	/**
	 * Whether the node has reported this. A node that is measured leads once at most.
	 */
	boolean has(Report report) {
		CompletableFuture<Long> time = get(report);
		return time.isDone() && !time.isCompletedExceptionally();
	}

	/**
	 * Completes when the node has reported this, exceptionally when its process has ended
	 * before.
	 */
	CompletableFuture<NodeProcess> when(Report report) {
		return get(report).thenApply((time) -> this);
	}

	/**
	 * Waits until the node has reported this.
	 * @return the time, of {@link System#nanoTime()}
	 */
	long await(Report report) throws Exception {
		return get(report).get(LIMIT_SECONDS, TimeUnit.SECONDS);
	}

	NodeJvm jvm() {
		return this.jvm;
	}

	/**
	 * Cuts it off from the database.
	 */
	void cutOff() {
		this.network.blackHole();
	}

	@Override
	public void close() {
		this.jvm.close();
		this.network.close();
	}

	@Override
	public String toString() {
		return this.name;
	}

	/**
	 * What a node reports the time of.
	 */
	enum Report {

		/** The application has started. */
		STARTED,

		/** {@code isLeader()} has answered {@code true} for the first time. */
		FIRST_TRUE,

		/** The last question that {@code isLeader()} answered with {@code true}. */
		LAST_TRUE

	}

}
