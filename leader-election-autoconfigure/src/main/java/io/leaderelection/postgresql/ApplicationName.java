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

/**
 * The {@code application_name} of a session, by which people and other nodes know who it
 * is. Within 63 bytes of ASCII; longer, the server would cut it off at its end, where the
 * unique part of a node id is.
 */
final class ApplicationName {

	private static final String PREFIX = "leader-election ";

	private static final int MAX_LENGTH = 63;

	private static final int MAX_ELECTION_LENGTH = 20;

	private final String electionPrefix;

	private final String value;

	ApplicationName(String election, String nodeId) {
		this.electionPrefix = PREFIX + shorten(election, MAX_ELECTION_LENGTH) + " ";
		this.value = this.electionPrefix + shorten(nodeId, MAX_LENGTH - this.electionPrefix.length());
	}

	/**
	 * Return the node id in the name of another session of the same election.
	 */
	String nodeOf(String applicationName) {
		return applicationName.startsWith(this.electionPrefix) ? applicationName.substring(this.electionPrefix.length())
				: applicationName;
	}

	private static String shorten(String text, int length) {
		String ascii = text.replaceAll("[^\\x21-\\x7e]|[$'\\\\]", "_");
		if (ascii.length() <= length) {
			return ascii;
		}
		int head = (length - 1) / 3;
		return ascii.substring(0, head) + "~" + ascii.substring(ascii.length() - (length - 1 - head));
	}

	@Override
	public String toString() {
		return this.value;
	}

}
