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

package io.leaderelection.application;

import java.time.Duration;
import java.util.stream.Stream;

import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An application of a cluster, as HTTP sees it.
 */
final class Node extends Http implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final String ENDPOINT = "/actuator/leadership/default";

	private final String id;

	private final Runnable end;

	Node(String id, int port, Runnable end) {
		super(port);
		this.id = id;
		this.end = end;
	}

	String id() {
		return this.id;
	}

	/**
	 * Return what the endpoint reports of the default election.
	 */
	Answer election() {
		return get(ENDPOINT);
	}

	/**
	 * Ask the leader of the default election to resign, whichever node that is.
	 */
	Answer resign() {
		return post(ENDPOINT);
	}

	String role() {
		return String.valueOf(election().text("/role"));
	}

	/**
	 * Wait until this node leads.
	 */
	Node awaitLeader() {
		Awaitility.await().untilAsserted(() -> assertThat(role()).as("role of '%s'", this.id).isEqualTo("leader"));
		return this;
	}

	/**
	 * Wait until this node reports the given leader and candidates.
	 */
	void awaitView(Node leader, Node... candidates) {
		awaitView(LIMIT, leader, candidates);
	}

	void awaitView(Duration limit, Node leader, Node... candidates) {
		Awaitility.await().atMost(limit).untilAsserted(() -> {
			Answer answer = election();
			assertThat(answer.text("/leader/node")).as("leader as '%s' reports it", this.id).isEqualTo(leader.id());
			assertThat(answer.texts("/candidates")).as("candidates as '%s' reports them", this.id)
				.containsExactlyInAnyOrder(Stream.of(candidates).map(Node::id).toArray(String[]::new));
		});
	}

	@Override
	public void close() {
		this.end.run();
	}

}
