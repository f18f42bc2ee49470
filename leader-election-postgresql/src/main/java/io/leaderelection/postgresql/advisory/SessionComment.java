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

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * What a session says about itself in a comment at the beginning of each of its messages:
 * other sessions read it in {@code pg_stat_activity}, which shows the first 1023 bytes of
 * the last message of a session, also while it is idle. Part of the contract between
 * versions.
 */
final class SessionComment {

	private static final String PREFIX = "/* leader-election ";

	private static final String SUFFIX = " */ ";

	private static final Pattern COMMENT = Pattern.compile("^\\Q" + PREFIX + "\\E([\\w.~%=&-]*)\\Q" + SUFFIX + "\\E");

	private SessionComment() {
	}

	/**
	 * Return the comment with some values, by name. It cannot end early, whatever they
	 * are.
	 * @return the comment, empty without values
	 */
	static String of(Map<String, String> values) {
		return values.isEmpty() ? ""
				: new TreeMap<>(values).entrySet()
					.stream()
					.map((entry) -> encoded(entry.getKey()) + "=" + encoded(entry.getValue()))
					.collect(Collectors.joining("&", PREFIX, SUFFIX));
	}

	private static String encoded(String text) {
		return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
	}

	/**
	 * Return the values in the comment of a message, by name.
	 * @param message the last message of a session, or {@code null}
	 */
	static Map<String, String> values(@Nullable String message) {
		Map<String, String> values = new TreeMap<>();
		Matcher matcher = COMMENT.matcher((message != null) ? message : "");
		if (matcher.lookingAt()) {
			for (String entry : matcher.group(1).split("&")) {
				String[] parts = entry.split("=", 2);
				if (parts.length == 2) {
					values.put(decoded(parts[0]), decoded(parts[1]));
				}
			}
		}
		return values;
	}

	/**
	 * Another program may have written it.
	 */
	private static String decoded(String text) {
		try {
			return URLDecoder.decode(text, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
		}
		catch (IllegalArgumentException ex) {
			return text;
		}
	}

}
