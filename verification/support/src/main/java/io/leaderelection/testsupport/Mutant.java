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

package io.leaderelection.testsupport;

/**
 * Seeded mistakes, each of which the fault tests or the simulation must notice.
 */
public enum Mutant {

	/** The product as it is. */
	NONE,

	/** Takes a transaction id for the term without making it durable. */
	BARE_TRANSACTION_ID,

	/** Waits for a lock of the session instead of one of the transaction. */
	SESSION_LOCK_IN_WAIT,

	/** Does not wait until no session holds a key of an earlier term. */
	NO_WAIT_FOR_EARLIER_TERMS,

	/** Counts trust from the reply of a confirmation instead of its start. */
	ANCHOR_AT_REPLY,

	/** Frees the lock without waiting for work and listeners. */
	UNLOCK_BEFORE_DRAIN,

	/** Lets every transaction pass the fence. */
	OPEN_FENCE,

	/** Does not limit how long a transaction that has passed the fence may be idle. */
	NO_LIMIT_IN_FENCE,

	/** A lack of memory ends the election thread for good. */
	THREAD_DIES,

	/** A lack of memory ends the watchdog for good. */
	WATCHDOG_DIES,

	/** An event for which no thread can be created is lost. */
	EVENT_NEEDS_THREAD,

	/**
	 * Wakes a session by a request to its server, under the lock of the election if there
	 * is no thread for it.
	 */
	WAKE_UNDER_LOCK,

	/** Inner work of another election clears the interrupt of outer work. */
	INNER_WORK_CLEARS_INTERRUPT,

	/** A stop may abort the session while it frees its lock after a long drain. */
	STOP_CUTS_RELEASE,

	/** A winner keeps its seat. */
	SEAT_NOT_FREED,

	/** Several sessions may have the same seat. */
	SEAT_SHARED,

	/** A node without a session finds no seat free. */
	NO_SEAT_FREE,

	/** Reads why sessions have ended before the predecessor is gone. */
	COUNTED_TOO_EARLY,

	/** Finds the predecessor alive before it reads why sessions have ended so far. */
	BASELINE_AFTER_LOOK,

	/** Finds the predecessor alive if it holds the key of its term only. */
	TERM_KEY_LOOKED_AT,

	/** All candidates wait for the lock, instead of the first of them only. */
	NO_HEAD,

	/**
	 * Takes a session that the server ended for an error for one that its client ended.
	 */
	FATAL_IGNORED,

	/** Compares counters although they were reset in between. */
	RESET_IGNORED,

	/** Examines the end of a leader that it has only just observed. */
	RECENT_PREDECESSOR,

	/** Takes over fast although the takeover delay is as long as the lease. */
	FAST_DESPITE_LONG_DELAY,

	/** Takes over fast although a proxy is between node and server. */
	PROXY_NOT_SEEN,

	/** A leader confirms its leadership half as often. */
	RARE_CONFIRMATION,

	/** Leaves the lock to a candidate of higher priority, but keeps its own. */
	YIELDS_WITHOUT_UNLOCK,

	/** Leaves the lock to a candidate after it has taken the key of the term. */
	YIELDS_WITH_TERM,

	/** Table: a crash of the server may lose renewals. */
	RENEWAL_NOT_FLUSHED,

	/** Table: a round adds one to the beat that it finds, whatever that is. */
	BEAT_INCREMENTED,

	/** Table: the row of a session is deleted whatever its beat is. */
	BEAT_NOT_COMPARED,

	/** Table: the row of a session is deleted whatever the timeline of the server is. */
	EXPIRED_AFTER_PROMOTION,

	/** Table: a takeover goes on although it has not raised its own beat. */
	TAKEN_WITHOUT_BEAT,

	/** Table: a takeover does not compare the timeline of the server. */
	TAKEN_AFTER_PROMOTION,

	/** Table: a takeover does not look whether the owner has a row. */
	TAKEN_FROM_ROW,

	/** Table: a takeover does not compare the term. */
	TERM_NOT_COMPARED,

	/** Table: a takeover does not compare the owner. */
	OWNER_NOT_COMPARED,

	/** Table: a takeover leaves the term as it is. */
	TERM_NOT_RAISED,

	/** Table: a release does not compare the term. */
	RELEASED_WITHOUT_TERM,

	/** Table: the row of a session is deleted although it owns an election. */
	ROW_DELETED_WHILE_OWNING,

	/** Table: the fence compares the transaction id of the term only. */
	FENCE_WITHOUT_TOKEN,

	/** Table: the fence does not lock the row of the election. */
	FENCE_WITHOUT_LOCK,

	/** Table: the fence does not look for the row of the owner. */
	FENCE_WITHOUT_ROW,

	/**
	 * Schedule: fires after the grant are due, although an earlier leader has done them.
	 */
	NO_CLAIM,

	/** Schedule: fires before the grant are not due, although nobody has done them. */
	NO_CATCH_UP

}
