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

package io.leaderelection.postgresql;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The advisory-lock keys of one election (PostgreSQL manual, section "Advisory Locks").
 * The main key is a {@code bigint}. All other keys are derived from it by SHA-256, so
 * that the nodes of an election agree on them and a collision with other users of
 * advisory locks is improbable. The keys are part of the contract between versions: nodes
 * that derive other keys elect another leader.
 *
 * @param main the key whose holder leads
 * @param termClass the first half of the two-part keys of terms
 * @param fence the key that fenced transactions share and a new leader passes through
 * @param candidate the key of which every candidate holds a share
 * @param requestClass the first half of the keys by which a node requests the end of a
 * term, and of the key of the candidate at the head of the queue
 * @param noticeClass the first half of the keys by which a leader publishes data of its
 * term
 * @param observerClass the first half of the key of which every other node holds a share,
 * of the keys of seats, of which every candidate that waits holds one, and of the keys of
 * {@linkplain Profiles profiles}
 */
public record ElectionKeys(long main, int termClass, long fence, long candidate, int requestClass, int noticeClass,
		int observerClass) {

	/**
	 * The second half of the marker that a term has ended cleanly. Negative, as no term
	 * is.
	 */
	public static final int CLEAN = -1;

	/**
	 * The second half of the key that a candidate holds while it waits for the main key.
	 * The others wait for this one. Negative, as no term is.
	 */
	public static final int HEAD = -1;

	/** The second half of the key of nodes that only observe. Those of seats follow. */
	public static final int OBSERVER = 0;

	/** The second half of the key of the first seat. */
	public static final int FIRST_SEAT = 1;

	/**
	 * The second half of the key of the seat of priority 0, which no node takes. Those of
	 * other priorities follow.
	 */
	public static final int FIRST_SEAT_OF_PRIORITY = 1 << 16;

	/**
	 * The second from which those in notices are counted, 2020-01-01: sufficient for 68
	 * years.
	 */
	public static final long NOTICE_EPOCH = 1_577_836_800;

	/**
	 * The number of bits for the timeline in a notice. Another 17 bits are for the part
	 * of the transaction id that is not in the key of the term.
	 */
	public static final int TIMELINE_BITS = 14;

	/**
	 * 2^31 divided by the golden ratio, so that the keys of different timelines are far
	 * apart.
	 */
	public static final long TIMELINE_DISTANCE = 1_327_217_885;

	/**
	 * Return the keys of an election by its name.
	 * @param group the group of nodes that share the election, usually the application
	 * @param election the name of the election
	 * @return the keys
	 */
	public static ElectionKeys derive(String group, String election) {
		return ofLockId(sha256(group + '\0' + election).getLong());
	}

	/**
	 * Return the keys of an election by its main key.
	 * @param lockId the main key
	 * @return the keys
	 */
	public static ElectionKeys ofLockId(long lockId) {
		ByteBuffer derived = sha256("io.leaderelection:" + lockId);
		return new ElectionKeys(lockId, derived.getInt(), derived.getLong(), derived.getLong(), derived.getInt(),
				derived.getInt(), derived.getInt());
	}

	/**
	 * Return the main key as a lock id.
	 * @return the id as users set and see it, hexadecimal
	 */
	public String lockId() {
		return "0x%016x".formatted(this.main);
	}

	/**
	 * Return the second half of the key of a term. Terms of one timeline have the same
	 * key only if their transaction ids are 2^31 apart, so that they cannot exist at the
	 * same time. On the first timeline, the key is the transaction id itself. Terms of
	 * two timelines may have the same transaction id, so their keys are far apart:
	 * otherwise a transaction of a leader on the former primary could be mistaken for a
	 * transaction of the leader on the promoted one.
	 * @param timeline the timeline of the term
	 * @param transactionId the transaction id of the term
	 * @return the key, not negative
	 */
	public static int termObject(long timeline, long transactionId) {
		return (int) ((transactionId + (timeline - 1) * TIMELINE_DISTANCE) & Integer.MAX_VALUE);
	}

	/**
	 * Return the second halves of the keys of the seats that a node may take: one for
	 * each standby, and one that only nodes of its priority may take, if it has one. So
	 * nodes of a lower priority cannot take all of them.
	 * @param standbys the number of standbys
	 * @param priority the priority of the node
	 */
	public static List<Integer> seats(int standbys, int priority) {
		IntStream general = IntStream.range(FIRST_SEAT, FIRST_SEAT + standbys);
		IntStream own = (priority > 0) ? IntStream.of(FIRST_SEAT_OF_PRIORITY + priority) : IntStream.empty();
		return IntStream.concat(general, own).boxed().toList();
	}

	/**
	 * Return the transaction id of a term from the second half of its key, which contains
	 * 31 bits of it, and from the bits above.
	 */
	public static long transactionId(long timeline, long termObject, long highBits) {
		return (highBits << 31) | ((termObject - (timeline - 1) * TIMELINE_DISTANCE) & Integer.MAX_VALUE);
	}

	private static ByteBuffer sha256(String text) {
		try {
			return ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("Every Java platform has SHA-256", ex);
		}
	}

	/**
	 * Return the condition for a key of two parts in {@code pg_locks}.
	 */
	public static String pair(int first, int second) {
		return "(objsubid = 2 AND classid = %s AND objid = %s)".formatted(unsigned(first), unsigned(second));
	}

	/**
	 * Return the condition for a key of one part in {@code pg_locks}.
	 */
	public static String bigint(long key) {
		return "(objsubid = 1 AND classid = %s AND objid = %s)".formatted(key >>> 32, key & 0xFFFFFFFFL);
	}

	/**
	 * Return a part of a key as {@code pg_locks} shows it.
	 */
	public static long unsigned(int half) {
		return half & 0xFFFFFFFFL;
	}

}
