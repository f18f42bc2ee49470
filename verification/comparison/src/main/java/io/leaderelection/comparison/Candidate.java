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
import java.util.List;
import java.util.stream.Stream;

/**
 * What is compared. The options are the properties of the adapter; those that begin with
 * {@code url:} belong to the JDBC URL, with {@code server:} to the server, with
 * {@code hikari.} to the pool. Those of a variant are recorded with each figure.
 */
enum Candidate {

	ADVISORY_LOCK("this project, advisory lock", Adapter.ThisProject.class,
			List.of("leader-election.store=advisory-lock", "leader-election.lease-duration=5s"),
			List.of("leader-election.store=advisory-lock", "leader-election.lease-duration=2s")),

	TABLE("this project, table", Adapter.ThisProject.class,
			List.of("leader-election.store=table", "leader-election.lease-duration=5s"),
			List.of("leader-election.store=table", "leader-election.lease-duration=2s")),

	SPRING_INTEGRATION("Spring Integration JDBC lock", Adapter.SpringIntegration.class,
			List.of("ttl=10s", "heart-beat=500ms", "busy-wait=50ms", "idle-between-tries=100ms", "on-conflict=false"),
			List.of("ttl=2s", "heart-beat=100ms", "busy-wait=20ms", "idle-between-tries=50ms", "on-conflict=true",
					"url:connectTimeout=1", "url:socketTimeout=1", "hikari.connection-timeout=500",
					"hikari.validation-timeout=250")),

	CURATOR("Apache Curator", Curator.class,
			List.of("session-timeout=60s", "connection-timeout=15s", "base-sleep=1s", "server:tick-time=2000"),
			List.of("session-timeout=2s", "connection-timeout=1s", "base-sleep=100ms", "server:tick-time=100")),

	SHEDLOCK("ShedLock", Adapter.ShedLock.class,
			List.of("pause=1s", "run-lasts=50ms", "lock-at-most-for=930ms", "lock-at-least-for=930ms"),
			List.of("pause=100ms", "run-lasts=50ms", "lock-at-most-for=1s", "lock-at-least-for=90ms",
					"url:connectTimeout=1", "url:socketTimeout=1", "hikari.connection-timeout=500",
					"hikari.validation-timeout=250")),

	KUBERNETES("Kubernetes lease", KubernetesLease.class,
			List.of("lease-duration=15s", "renew-deadline=10s", "retry-period=2s", "release-on-cancel=false",
					"request-timeout=10s", "request-retries=10"),
			List.of("lease-duration=2s", "renew-deadline=1s", "retry-period=200ms", "release-on-cancel=true",
					"request-timeout=400ms", "request-retries=0")),

	POLLER("`pg_try_advisory_lock` poller", Poller.class, List.of("interval=1s"), List.of("interval=200ms",
			"url:connectTimeout=1", "url:socketTimeout=1", "url:options=-c%20idle_session_timeout=2000"));

	/** The pool of the application. */
	private static final List<String> POOL = List.of("hikari.maximum-pool-size=2", "hikari.minimum-idle=0",
			"hikari.idle-timeout=10000");

	private final String title;

	private final Class<?> adapter;

	private final List<String> defaults;

	private final List<String> tuned;

	Candidate(String title, Class<?> adapter, List<String> defaults, List<String> tuned) {
		this.title = title;
		this.adapter = adapter;
		this.defaults = defaults;
		this.tuned = tuned;
	}

	String title() {
		return this.title;
	}

	Class<?> adapter() {
		return this.adapter;
	}

	List<String> options(Variant variant) {
		List<String> own = (variant == Variant.DEFAULT) ? this.defaults : this.tuned;
		boolean pooled = compareTo(SPRING_INTEGRATION) <= 0 || this == SHEDLOCK;
		return Stream.concat(own.stream(), pooled ? POOL.stream() : Stream.empty()).toList();
	}

	Backend startBackend(Variant variant) throws Exception {
		return switch (this) {
			case CURATOR -> new Curator.ZooKeeper(withPrefix(options(variant), "server:"));
			case KUBERNETES -> new KubernetesLease.Server();
			default -> new Backend.PostgreSql();
		};
	}

	/**
	 * What passes between two renewals, and within which a fault comes at random.
	 */
	Duration renewal(Variant variant) {
		return Duration
			.ofSeconds((variant == Variant.TUNED) ? 1 : (this == CURATOR) ? 10 : (this == KUBERNETES) ? 2 : 1);
	}

	static List<String> withPrefix(List<String> options, String prefix) {
		return options.stream()
			.filter((option) -> option.startsWith(prefix))
			.map((option) -> option.substring(prefix.length()))
			.toList();
	}

	/**
	 * With which settings a candidate is measured: those that it has or that its
	 * documentation shows, or those of somebody who wants a short failover.
	 */
	enum Variant {

		DEFAULT, TUNED

	}

}
