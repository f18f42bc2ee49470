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

package io.leaderelection.autoconfigure.metrics;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which metrics and labels an expression of PromQL uses.
 *
 * @param selectors the metrics, and which of their series are meant
 * @param groupingLabels the labels by which the expression aggregates
 */
record PromQl(List<Selector> selectors, Set<String> groupingLabels) {

	private static final String NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*+";

	private static final Pattern LABEL = Pattern
		.compile("(?<label>NAME)(?:=~|!~|!=|=)\"(?<value>[^\"]*)\"".replace("NAME", NAME));

	private static final Pattern TOKEN = Pattern
		.compile(("\\s*(?:(?:sum|min|max|avg|count)(?:\\s+by\\s+\\((?<by>NAME(?:,\\s*NAME)*)\\)\\s*)?(?=\\()"
				+ "|(?:rate|increase|max_over_time|min_over_time|absent|vector)(?=\\()|(?:and|or|unless)\\b"
				+ "|(?<metric>NAME)(?!\\s*\\()(?:\\{(?<labels>LABEL(?:,\\s*LABEL)*)})?(?!\\{)"
				+ "|\\[[^]]+]|[0-9.]+|==|!=|>=|<=|[-+*/%^><]|(?<open>\\()|(?<close>\\)))\\s*")
			.replace("LABEL", LABEL.pattern().replaceAll("\\?<\\w+>", "?:"))
			.replace("NAME", NAME));

	/**
	 * Read an expression.
	 * @throws IllegalArgumentException if it is none, or more than this parser knows
	 */
	static PromQl parse(String expression) {
		PromQl result = new PromQl(new ArrayList<>(), new HashSet<>());
		Matcher token = TOKEN.matcher(expression);
		int depth = 0;
		for (int end = 0; end < expression.length(); end = token.end()) {
			if (!token.find() || token.start() != end || depth < 0) {
				throw new IllegalArgumentException("Not expected: " + expression.substring(end));
			}
			if (token.group("by") != null) {
				result.groupingLabels.addAll(List.of(token.group("by").split(",\\s*")));
			}
			if (token.group("metric") != null) {
				String labels = (token.group("labels") != null) ? token.group("labels") : "";
				result.selectors.add(new Selector(token.group("metric"),
						LABEL.matcher(labels)
							.results()
							.map((label) -> new LabelMatcher(label.group(1), label.group(2)))
							.toList()));
			}
			depth += (token.group("open") != null) ? 1 : (token.group("close") != null) ? -1 : 0;
		}
		if (depth != 0 || result.selectors.isEmpty()) {
			throw new IllegalArgumentException("Incomplete: " + expression);
		}
		return result;
	}

	/**
	 * A metric and which of its series are meant.
	 */
	record Selector(String metric, List<LabelMatcher> matchers) {
	}

	/**
	 * A label and what it is compared with.
	 */
	record LabelMatcher(String label, String value) {
	}

}
