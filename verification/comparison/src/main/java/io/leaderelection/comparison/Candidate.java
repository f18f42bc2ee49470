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

import java.util.List;

/**
 * What is compared. The options are the properties of the adapter; those that begin with
 * {@code url:} belong to the JDBC URL and those that begin with {@code server:} to the
 * server. Those of a variant are recorded with each figure.
 */
enum Candidate {

	ADVISORY_LOCK("this project, advisory lock", Adapter.ThisProject.class,
			List.of("leader-election.store=advisory-lock", "leader-election.lease-duration=5s"),
			List.of("leader-election.store=advisory-lock", "leader-election.lease-duration=2s")),

	TABLE("this project, table", Adapter.ThisProject.class,
			List.of("leader-election.store=table", "leader-election.lease-duration=5s"),
			List.of("leader-election.store=table", "leader-election.lease-duration=2s")),

	SPRING_INTEGRATION("Spring Integration JDBC lock", SpringIntegration.class,
			List.of("ttl=10s", "heart-beat=500ms", "busy-wait=50ms", "idle-between-tries=100ms"),
			List.of("ttl=2s", "heart-beat=500ms", "busy-wait=20ms", "idle-between-tries=50ms", "url:connectTimeout=1",
					"url:socketTimeout=1", "spring.datasource.hikari.connection-timeout=1000",
					"spring.datasource.hikari.validation-timeout=500")),

	CURATOR("Apache Curator", Curator.class,
			List.of("session-timeout=60s", "connection-timeout=15s", "base-sleep=1s", "server:tick-time=2000"),
			List.of("session-timeout=2s", "connection-timeout=1s", "base-sleep=100ms", "server:tick-time=500")),

	SHEDLOCK("ShedLock", ShedLock.class, List.of("pause=1s", "run-lasts=50ms", "lock-at-most-for=10m"),
			List.of("pause=100ms", "run-lasts=50ms", "lock-at-most-for=2s", "url:connectTimeout=1",
					"url:socketTimeout=1", "spring.datasource.hikari.connection-timeout=1000",
					"spring.datasource.hikari.validation-timeout=500")),

	KUBERNETES("Kubernetes lease", KubernetesLease.class,
			List.of("lease-duration=15s", "renew-deadline=10s", "retry-period=2s", "release-on-cancel=false",
					"request-timeout=10s", "request-retries=10"),
			List.of("lease-duration=2s", "renew-deadline=1500ms", "retry-period=300ms", "release-on-cancel=true",
					"request-timeout=750ms", "request-retries=0")),

	POLLER("`pg_try_advisory_lock` poller", Poller.class, List.of("interval=1s"), List.of("interval=200ms",
			"url:connectTimeout=1", "url:socketTimeout=1", "url:options=-c%20idle_session_timeout=2000"));

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
		return (variant == Variant.DEFAULT) ? this.defaults : this.tuned;
	}

	Backend startBackend(Variant variant) throws Exception {
		return switch (this) {
			case CURATOR -> new Curator.ZooKeeper(withPrefix(options(variant), "server:"));
			case KUBERNETES -> new KubernetesLease.Server();
			default -> new Backend.PostgreSql();
		};
	}

	/**
	 * Whether the server keeps a session that it can end while the node runs.
	 */
	boolean hasSession() {
		return this == ADVISORY_LOCK || this == CURATOR || this == POLLER;
	}

	static List<String> withPrefix(List<String> options, String prefix) {
		return options.stream()
			.filter((option) -> option.startsWith(prefix))
			.map((option) -> option.substring(prefix.length()))
			.toList();
	}

	/**
	 * With which settings a candidate is measured.
	 */
	enum Variant {

		/** Those that it has, or that its documentation shows. */
		DEFAULT,

		/** Those of somebody who wants a short failover, and can set everything. */
		TUNED

	}

}
