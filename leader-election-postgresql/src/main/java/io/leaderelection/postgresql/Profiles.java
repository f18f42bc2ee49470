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

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import io.leaderelection.engine.NodeProfile;
import org.jspecify.annotations.Nullable;

/**
 * The forms in which nodes publish their profiles: the second halves of advisory-lock
 * keys, of which the session of a node holds shares, and text in the lease table. Both
 * are part of the contract between versions.
 * <p>
 * Locks, unlike the last statement of a session, are visible to every role, and they are
 * gone with the session. A key has the highest bit, which no other key of its class has,
 * seven bits for its position, and three bytes: at position 0 the protocol, the priority
 * and the length of the metadata, and then the metadata as text. The highest bit of the
 * protocol tells whether a takeover from the session is fast.
 */
final class Profiles {

	private static final int BYTES = 3;

	private static final Pattern TEXT = Pattern.compile("(\\d{1,3}) (\\d{1,3}) (.*)", Pattern.DOTALL);

	/** The bits of a key below its position. */
	static final int BITS = 8 * BYTES;

	/** The other bits of the key at position 0. */
	static final int HEADER = 1 << Byte.SIZE - 1;

	/** The bit of the key at position 0 that allows a fast takeover. */
	private static final int FAST = 1 << BITS - 1;

	private Profiles() {
	}

	/**
	 * Return the second halves of the keys of a profile.
	 * @param fast whether a takeover from the session of the node is fast
	 */
	static List<Integer> keys(NodeProfile profile, boolean fast) {
		byte[] metadata = profile.metadataText().getBytes(StandardCharsets.UTF_8);
		int header = (fast ? FAST : 0) | profile.protocol() << 2 * 8 | profile.priority() << 8 | metadata.length;
		return IntStream.rangeClosed(0, (metadata.length + BYTES - 1) / BYTES)
			.map((position) -> Integer.MIN_VALUE | position << BITS
					| ((position == 0) ? header : bytes(metadata, (position - 1) * BYTES)))
			.boxed()
			.toList();
	}

	private static int bytes(byte[] metadata, int offset) {
		byte[] bytes = Arrays.copyOfRange(metadata, offset, offset + BYTES);
		return (bytes[0] & 0xFF) << 2 * 8 | (bytes[1] & 0xFF) << 8 | bytes[2] & 0xFF;
	}

	/**
	 * Return whether a takeover from the session with these keys is fast. Those of
	 * earlier versions have no such key.
	 * @param keys the keys of a session, separated by commas, in ascending order
	 */
	static boolean isFast(@Nullable String keys) {
		int first = (keys != null) ? Integer.parseUnsignedInt(keys.split(",", 2)[0]) : 0;
		return first >>> BITS == HEADER && (first & FAST) != 0;
	}

	/**
	 * Return the profile with these keys.
	 * @param keys the keys of a session, separated by commas, in ascending order
	 */
	static NodeProfile ofKeys(@Nullable String keys) {
		Map<Integer, Integer> values = new TreeMap<>();
		for (String key : (keys != null) ? keys.split(",") : new String[0]) {
			int value = Integer.parseUnsignedInt(key);
			values.put(value >>> BITS & 0x7F, value);
		}
		Integer header = values.remove(0);
		if (header == null) {
			return NodeProfile.UNKNOWN;
		}
		byte[] metadata = new byte[values.size() * BYTES];
		int index = 0;
		for (int value : values.values()) {
			for (int shift = 2 * 8; shift >= 0; shift -= 8) {
				metadata[index++] = (byte) (value >>> shift);
			}
		}
		int length = header & 0xFF;
		boolean complete = values.size() == (length + BYTES - 1) / BYTES;
		return new NodeProfile(header >>> 2 * 8 & 0x7F, header >>> 8 & 0xFF,
				complete ? metadata(new String(metadata, 0, length, StandardCharsets.UTF_8)) : Map.of());
	}

	/**
	 * Return a profile as text.
	 */
	static String text(NodeProfile profile) {
		return profile.protocol() + " " + profile.priority() + " " + profile.metadataText();
	}

	/**
	 * Return the profile with this text, or an unknown one if the text has another form.
	 */
	static NodeProfile ofText(@Nullable String text) {
		if (text == null) {
			return NodeProfile.UNKNOWN;
		}
		Matcher matcher = TEXT.matcher(text);
		return matcher.matches() ? new NodeProfile(Integer.parseInt(matcher.group(1)),
				Integer.parseInt(matcher.group(2)), metadata(matcher.group(3))) : NodeProfile.UNKNOWN;
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
