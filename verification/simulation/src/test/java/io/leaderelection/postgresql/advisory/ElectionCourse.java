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

package io.leaderelection.postgresql.advisory;

import java.util.Arrays;
import java.util.Random;
import java.util.SortedMap;

import io.leaderelection.postgresql.advisory.ElectionOperation.Kind;
import io.leaderelection.simulation.ComparedSessions;

/**
 * Chooses operations that make sense for what nodes and transactions do at present.
 */
final class ElectionCourse {

	static final int NODES = 4;

	private static final int WRITERS = 3;

	private static final int MOST_TENSE_OPERATIONS = 12;

	private final Random random;

	private final Node[] nodes = new Node[NODES];

	private final boolean[] connected = new boolean[WRITERS];

	private int terms;

	private int tense;

	ElectionCourse(Random random) {
		this.random = random;
		for (int node = 0; node < NODES; node++) {
			this.nodes[node] = Node.CLOSED;
		}
	}

	/**
	 * Return whether a session does something that the server ends after a while.
	 */
	boolean isTense() {
		return this.tense > 0;
	}

	ElectionOperation next() {
		if (this.tense > MOST_TENSE_OPERATIONS) {
			for (int node = 0; node < NODES; node++) {
				if (this.nodes[node] == Node.RELEASED) {
					return operation(Kind.CLOSE, node);
				}
				if (this.nodes[node] == Node.WAITING || this.nodes[node] == Node.AT_BARRIER) {
					return operation(Kind.CANCEL, node);
				}
			}
		}
		int elected = indexOf(Node.ELECTED);
		int follower = indexOf(Node.FOLLOWING);
		if (elected >= 0 && indexOf(Node.WAITING) >= 0 && this.random.nextInt(10) < ((follower < 0) ? 5 : 2)) {
			// Without a successor, a release takes long
			return operation(ofPredecessor(this.random.nextInt(100)), elected);
		}
		if (elected >= 0 && follower >= 0 && this.random.nextInt(10) < 4) {
			return operation((this.random.nextInt(4) == 0) ? Kind.OBSERVE : Kind.ACQUIRE, follower);
		}
		if (this.terms > 0 && this.random.nextInt(10) < 3) {
			return ofWriter(this.random.nextInt(WRITERS));
		}
		int node = this.random.nextInt(NODES);
		return operation(kind(this.nodes[node], this.random.nextInt(100)), node);
	}

	private static Kind ofPredecessor(int choice) {
		return (choice < 30) ? Kind.RELEASE : (choice < 60) ? Kind.CLOSE
				: (choice < 70) ? Kind.TERMINATE : (choice < 85) ? Kind.EXPIRE : Kind.RESET_STATISTICS;
	}

	private int indexOf(Node state) {
		return Arrays.asList(this.nodes).indexOf(state);
	}

	private ElectionOperation ofWriter(int writer) {
		int choice = this.random.nextInt(100);
		Kind kind = !this.connected[writer] ? Kind.OPEN
				: (choice < 50) ? Kind.FENCE : (choice < 80) ? Kind.COMMIT : (choice < 95) ? Kind.ROLLBACK : Kind.CLOSE;
		return operation(kind, ComparedElection.FIRST_WRITER + writer);
	}

	private ElectionOperation operation(Kind kind, int session) {
		int term = (this.terms > 0) ? this.terms - 1 : 0;
		if (this.terms > 1 && this.random.nextInt(3) == 0) {
			term = this.random.nextInt(this.terms);
		}
		return new ElectionOperation(kind, session, term, this.random.nextInt(4) > 0);
	}

	private Kind kind(Node node, int choice) {
		return switch (node) {
			case CLOSED -> (choice < 80) ? Kind.OPEN : Kind.WATCH;
			case OPEN -> (choice < 70) ? Kind.BECOME_CANDIDATE : ofFollower(choice);
			case FOLLOWING -> (choice < 60) ? Kind.ACQUIRE : (choice < 65) ? Kind.BECOME_CANDIDATE : ofFollower(choice);
			case WAITING, AT_BARRIER -> (choice < 80) ? Kind.CANCEL : Kind.TERMINATE;
			case ELECTED -> (choice < 50) ? Kind.CONFIRM : (choice < 85) ? Kind.PASS_BARRIER
					: (choice < 90) ? Kind.RELEASE : (choice < 95) ? Kind.TERMINATE : Kind.CLOSE;
			case RELEASED -> Kind.CLOSE;
		};
	}

	private Kind ofFollower(int choice) {
		return (choice < 74) ? Kind.WITHDRAW : (choice < 86 || this.terms == 0) ? Kind.OBSERVE
				: (choice < 92) ? Kind.REQUEST : (choice < 96) ? Kind.CLOSE : Kind.TERMINATE;
	}

	void follow(ElectionOperation operation, SortedMap<Integer, String> answers) {
		int session = operation.session();
		if (session >= ComparedElection.FIRST_WRITER) {
			switch (operation.kind()) {
				case OPEN -> this.connected[session - ComparedElection.FIRST_WRITER] = true;
				case CLOSE -> this.connected[session - ComparedElection.FIRST_WRITER] = false;
				default -> {
				}
			}
		}
		else {
			this.nodes[session] = after(operation, this.nodes[session], answers.get(session));
		}
		answers.forEach((each, answer) -> {
			if (answer.startsWith("won")) {
				this.terms++;
				this.nodes[each] = Node.ELECTED;
			}
			else if (answer.equals(ComparedElection.LOST) && operation.kind() != Kind.TERMINATE) {
				this.nodes[each] = Node.RELEASED;
			}
			else if (each < NODES && !answer.equals(ComparedSessions.WAITS)) {
				this.nodes[each] = switch (this.nodes[each]) {
					case WAITING -> Node.FOLLOWING;
					case AT_BARRIER -> Node.ELECTED;
					default -> this.nodes[each];
				};
			}
		});
		boolean isTense = false;
		for (Node node : this.nodes) {
			isTense |= node == Node.WAITING || node == Node.AT_BARRIER || node == Node.RELEASED;
		}
		this.tense = isTense ? this.tense + 1 : 0;
	}

	private static Node after(ElectionOperation operation, Node before, String answer) {
		return switch (operation.kind()) {
			case OPEN -> Node.OPEN;
			case CLOSE, TERMINATE, EXPIRE -> Node.CLOSED;
			case BECOME_CANDIDATE -> "admitted false".equals(answer) ? before : Node.FOLLOWING;
			case WITHDRAW -> Node.OPEN;
			case ACQUIRE -> ComparedSessions.WAITS.equals(answer) ? Node.WAITING : before;
			case PASS_BARRIER -> ComparedSessions.WAITS.equals(answer) ? Node.AT_BARRIER : before;
			case RELEASE -> Node.RELEASED;
			default -> before;
		};
	}

	/**
	 * What a node is at.
	 */
	private enum Node {

		CLOSED, OPEN, FOLLOWING, WAITING, ELECTED, AT_BARRIER, RELEASED

	}

}
