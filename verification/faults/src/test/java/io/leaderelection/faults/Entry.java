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

import java.util.Optional;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;

/**
 * Something that happened on a node, in one line of its output.
 *
 * @param node the name of the node, one per process
 * @param time when, in nanoseconds of the monotonic clock that all processes of the
 * machine share
 * @param kind what
 * @param term the term it belongs to, if any
 * @param details further words
 */
record Entry(String node, long time, Kind kind, Optional<Term> term, String details) {

	/** What a line of the output starts with that is an entry. */
	static final String MARK = "@ ";

	String format() {
		return this.time + " " + this.kind + " " + this.term.map(Term::toString).orElse("-") + " " + this.details;
	}

	static Entry parse(String node, String text) {
		String[] parts = text.split(" ", 4);
		return new Entry(node, Long.parseLong(parts[0]), Kind.valueOf(parts[1]), term(parts[2]), parts[3]);
	}

	static Optional<Term> term(String text) {
		if (text.equals("-")) {
			return Optional.empty();
		}
		String[] parts = text.split(":");
		return Optional.of(new Term(Integer.parseInt(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2])));
	}

	Term requiredTerm() {
		return this.term.orElseThrow(() -> new IllegalStateException("No term in " + this));
	}

	/**
	 * What may happen on a node.
	 */
	enum Kind {

		/** The application is ready. */
		STARTED,

		/** The application has closed. */
		STOPPED,

		/** The test has killed the process. */
		KILLED,

		/** A command has arrived; the details say which. */
		COMMAND,

		/** The first of a row of samples in which the node leads in that term. */
		TRUE_FROM,

		/** One of the samples in between, every now and then. */
		TRUE_AT,

		/** The last sample of that row. */
		TRUE_UNTIL,

		/** No sample was taken since then, for as many nanoseconds as the details say. */
		STALL,

		/**
		 * A thread of the library was ready to run since about then, but had no
		 * processor; the details say for how many nanoseconds in total, and which thread.
		 */
		DELAY,

		/** Samples taken so far; the details say how many. */
		SAMPLES,

		/** A listener was called. */
		GRANTED,

		/** That listener is done. */
		GRANTED_ENDED,

		/** A listener was called; the details give the reason. */
		REVOKED,

		/** That listener is done. */
		REVOKED_ENDED,

		/** Leader work has begun; the details number it. */
		WORK,

		/** That work has ended. */
		WORK_ENDED,

		/** Leader work that writes in a transaction has begun; the details number it. */
		WRITE,

		/** That work has ended. */
		WRITE_ENDED,

		/**
		 * A fenced transaction is held; the details give its number and the process id of
		 * its session.
		 */
		HELD,

		/** That transaction has ended; the details give its number and how. */
		HELD_ENDED,

		/** A fire of a durable schedule was committed; the details give its second. */
		FIRED,

		/** Its transaction has failed, as far as the node can tell. */
		NOT_FIRED,

		/** Another node leads; the details name it. */
		OBSERVED,

		/** What the elector says of itself. */
		STATUS,

		/** A job that is not leader work has taken the only thread of the scheduler. */
		BLOCKED,

		/** A transaction has ended; the details give its number and how. */
		OUTCOME,

		/** A thread that was to go on has ended; the details say why. */
		DIED

	}

}
