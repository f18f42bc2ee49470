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

package io.leaderelection.engine;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * The session names of the nodes of one election on its store, which contain the node id
 * as other nodes see it. A session name has at most 63 ASCII characters: a store would
 * truncate a longer name at its end, where the unique part of a node id is.
 */
public final class SessionNames {

	private static final String PREFIX = "leader-election ";

	private static final int MAX_LENGTH = 63;

	private static final int MAX_ELECTION_LENGTH = 20;

	/** Of 32 bits with the digits 0 to 9 and a to z. */
	private static final int HASH_LENGTH = 7;

	private final String prefix;

	/**
	 * Create a new {@code SessionNames} instance.
	 * @param election the name of the election
	 */
	public SessionNames(String election) {
		this.prefix = PREFIX + shorten(election, MAX_ELECTION_LENGTH) + " ";
	}

	/**
	 * Return the name of the session of a node.
	 * @param nodeId the id of the node
	 * @return the name
	 */
	public String of(String nodeId) {
		return this.prefix + visibleId(nodeId);
	}

	/**
	 * Return the node id in the name of a session.
	 * @param session the name
	 * @return the node id as other nodes see it, or the whole name if it is not the name
	 * of a node
	 */
	public String nodeOf(String session) {
		return session.startsWith(this.prefix) ? session.substring(this.prefix.length()) : session;
	}

	/**
	 * Return a node id as other nodes see it: without characters that some stores do not
	 * preserve, and shortened in the middle. Where characters were replaced or left out,
	 * it contains a hash of the whole id, so that different nodes remain different. Its
	 * length depends on the name of the election. Part of the contract between versions.
	 * @param nodeId the node id, in full or as other nodes see it
	 * @return the node id as other nodes see it
	 */
	String visibleId(String nodeId) {
		int length = MAX_LENGTH - this.prefix.length();
		String ascii = ascii(nodeId);
		if (ascii.equals(nodeId) && ascii.length() <= length) {
			return ascii;
		}
		String hash = "~" + hash(nodeId);
		if (ascii.length() + hash.length() <= length) {
			return ascii + hash;
		}
		int kept = length - hash.length() - 1;
		int head = kept / 3;
		return ascii.substring(0, head) + hash + "~" + ascii.substring(ascii.length() - (kept - head));
	}

	/**
	 * Return whether two ids, each in full or as other nodes see it, are of one node.
	 * @param nodeId a node id
	 * @param other another node id
	 * @return whether other nodes see the same id
	 */
	public boolean isSame(String nodeId, String other) {
		return nodeId.equals(other) || visibleId(nodeId).equals(visibleId(other));
	}

	private static String ascii(String text) {
		return text.replaceAll("[^\\x21-\\x7e]|[$'\\\\]", "_");
	}

	/**
	 * Return a checksum, which is different for texts of one length that differ in up to
	 * four adjacent bytes, for instance in a number.
	 */
	private static String hash(String text) {
		CRC32 checksum = new CRC32();
		checksum.update(text.getBytes(StandardCharsets.UTF_8));
		String digits = Long.toString(checksum.getValue(), Character.MAX_RADIX);
		return "0".repeat(HASH_LENGTH - digits.length()) + digits;
	}

	private static String shorten(String text, int length) {
		String ascii = ascii(text);
		if (ascii.length() <= length) {
			return ascii;
		}
		int head = (length - 1) / 3;
		return ascii.substring(0, head) + "~" + ascii.substring(ascii.length() - (length - 1 - head));
	}

}
