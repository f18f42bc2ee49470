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

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.engine.NodeProfile;
import org.jspecify.annotations.Nullable;

/**
 * The forms in which nodes publish their profiles: the second half of an advisory-lock
 * key, of which the session of a node holds a share, and text in the lease table. Both
 * are part of the contract between versions.
 * <p>
 * A lock, unlike the last message of a session, is visible to every role, and it is gone
 * with the session. The key has the highest bit, which no other key of its class has,
 * seven bits that are 0, and three bytes: the protocol, the priority and the length of
 * the metadata, which are in a comment. The second bit of the protocol tells whether a
 * takeover from the session is fast.
 */
public final class Profiles {

	private static final Pattern TEXT = Pattern.compile("(\\d{1,3}) (\\d{1,3}) (?:(-?\\d{1,9}) )?(.*)", Pattern.DOTALL);

	/** The bits of a key below its prefix. */
	public static final int BITS = 24;

	/** The other bits of a key. */
	public static final int PREFIX = 0x80;

	/** An earlier version used the next bit, which promised less. */
	private static final int FAST = 1 << 22;

	private Profiles() {
	}

	/**
	 * Return the second half of the key of a profile.
	 * @param profile the profile
	 * @param fast whether a takeover from the session of the node is fast
	 * @return the second half of the key
	 */
	public static int key(NodeProfile profile, boolean fast) {
		return PREFIX << BITS | (fast ? FAST : 0) | profile.protocol() << 16 | profile.priority() << 8
				| profile.metadataText().length();
	}

	/**
	 * Return whether a key is that of a profile.
	 * @param key the second half of the key
	 * @return whether it is
	 */
	public static boolean isKey(int key) {
		return key >>> BITS == PREFIX;
	}

	/**
	 * Return whether a takeover from the session with this key is fast. Those of earlier
	 * versions have no such key.
	 * @param key the second half of the key
	 * @return whether it is
	 */
	public static boolean isFast(int key) {
		return isKey(key) && (key & FAST) != 0;
	}

	/**
	 * Return whether the node with this key publishes metadata.
	 * @param key the second half of the key
	 * @return whether it does
	 */
	public static boolean hasMetadata(int key) {
		return isKey(key) && (key & 0xFF) != 0;
	}

	/**
	 * Return the profile with this key.
	 * @param key the second half of the key
	 * @param metadata the metadata, as far as they can be read
	 * @return the profile
	 */
	public static NodeProfile of(int key, Map<String, String> metadata) {
		return isKey(key) ? new NodeProfile(key >>> 16 & 0x3F, key >>> 8 & 0xFF, hasMetadata(key) ? metadata : Map.of())
				: NodeProfile.UNKNOWN;
	}

	/**
	 * Return a profile as text.
	 * @param profile the profile
	 * @return the text
	 */
	public static String text(NodeProfile profile) {
		return profile.protocol() + " " + profile.priority() + " " + profile.capacity() + " " + profile.metadataText();
	}

	/**
	 * Return the profile with this text, or an unknown one if the text has another form.
	 * @param text the text, if there is one
	 * @return the profile
	 */
	public static NodeProfile ofText(@Nullable String text) {
		if (text == null) {
			return NodeProfile.UNKNOWN;
		}
		Matcher matcher = TEXT.matcher(text);
		if (!matcher.matches()) {
			return NodeProfile.UNKNOWN;
		}
		// An earlier version has none
		String capacity = matcher.group(3);
		return new NodeProfile(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)),
				(capacity != null) ? Integer.parseInt(capacity) : 0, metadata(matcher.group(4)));
	}

	private static Map<String, String> metadata(String text) {
		Map<String, String> metadata = new LinkedHashMap<>();
		text.lines().filter((line) -> line.contains("=")).forEach((line) -> {
			int separator = line.indexOf('=');
			metadata.put(line.substring(0, separator), line.substring(separator + 1));
		});
		return metadata;
	}

}
