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

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.postgresql.ElectionKeys;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of an election on a server, simulated or real.
 */
abstract class ComparedElection implements AutoCloseable {

	static final String WAITS = "waits";

	static final String LOST = "lost";

	static final String ENDED = "ended";

	/** The client of the predecessor has ended its session. */
	static final String ABANDONED = " abandoned";

	/** No key of an earlier term is left. */
	static final String CLEAR = " clear";

	static final long LEASE_MILLIS = 60_000;

	static final long WAIT_MILLIS = 800;

	static final int FIRST_WRITER = 10;

	private final ElectionKeys keys;

	private final int standbys;

	private final int[] priorities;

	/** The terms that were won, in order. */
	private final List<Term> terms = new ArrayList<>();

	private long base;

	ComparedElection(ElectionKeys keys, int standbys, int[] priorities) {
		this.keys = keys;
		this.standbys = standbys;
		this.priorities = priorities;
	}

	/**
	 * Begin an operation, and return when all sessions have done what they could.
	 * @return what each session says that was busy
	 */
	abstract SortedMap<Integer, String> run(ElectionOperation operation) throws Exception;

	/**
	 * Return the locks that are held and awaited.
	 */
	abstract SortedSet<String> locks() throws Exception;

	@Override
	public abstract void close() throws Exception;

	/**
	 * Set the transaction id from which those of terms are counted.
	 */
	final void countFrom(long transactionId) {
		this.base = transactionId;
	}

	final int standbys() {
		return this.standbys;
	}

	final NodeProfile profile(int number) {
		return new NodeProfile(NodeProfile.PROTOCOL, this.priorities[number], Map.of());
	}

	final List<Integer> seats(int number) {
		return ElectionKeys.seats(this.standbys, this.priorities[number]);
	}

	final Term term(int number) {
		return this.terms.get(number);
	}

	/**
	 * Return the number of the term with this second half of its key.
	 */
	final int numberOf(int termObject) {
		for (int number = this.terms.size() - 1; number >= 0; number--) {
			if (termObject(number) == termObject) {
				return number;
			}
		}
		throw new IllegalArgumentException("No term has the key " + termObject);
	}

	final int termObject(int number) {
		Term term = term(number);
		return ElectionKeys.termObject(term.timeline(), term.transactionId());
	}

	/**
	 * Return the words for a term that was won.
	 */
	final synchronized String won(Term term, Ending ending, boolean clear) {
		this.terms.add(term);
		return "won " + words(term) + switch (ending) {
			case CLEAN -> " clean";
			case ABANDONED -> ABANDONED;
			case UNKNOWN -> "";
		} + (clear ? CLEAR : "");
	}

	/**
	 * Return the words for what was observed without a session.
	 */
	static String watched(String view, boolean open) {
		return view + (open ? ", a seat is free" : ", no seat is free");
	}

	final String words(@Nullable Term term) {
		return (term != null) ? "term " + term.timeline() + ":" + (term.transactionId() - this.base) : "no term";
	}

	/**
	 * Return the words for a lock, in which nothing depends on the server.
	 */
	final String describe(@Nullable Integer session, int parts, int high, int low, boolean shared, boolean granted) {
		return "session " + session + (granted ? " holds " : " awaits ") + (shared ? "share of " : "")
				+ name(parts, high, low);
	}

	private String name(int parts, int high, int low) {
		if (parts == 1) {
			long key = ((long) high << 32) | Integer.toUnsignedLong(low);
			return (key == this.keys.main()) ? "main" : (key == this.keys.fence()) ? "fence"
					: (key == this.keys.candidate()) ? "candidate" : Long.toString(key);
		}
		if (high == this.keys.termClass()) {
			return (low == ElectionKeys.CLEAN) ? "marker" : "term " + (low - this.base);
		}
		if (high == this.keys.requestClass() && low == ElectionKeys.HEAD) {
			return "head";
		}
		return (high == this.keys.requestClass()) ? "request " + (low - this.base)
				: (high == this.keys.noticeClass()) ? "notice"
						: (high == this.keys.observerClass())
								? (low == ElectionKeys.OBSERVER) ? "observer" : (low < 0) ? "profile" : "seat " + low
								: high + ":" + low;
	}

}
