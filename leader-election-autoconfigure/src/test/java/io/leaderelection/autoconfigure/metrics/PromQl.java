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

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * As much of a parser of PromQL as it takes to find out which metrics and labels an
 * expression uses.
 */
final class PromQl {

	private static final Pattern TOKEN = Pattern
		.compile("\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|\\[[^\\]]+]|[0-9]+(?:\\.[0-9]+)?"
				+ "|[a-zA-Z_:][a-zA-Z0-9_:]*|=~|!~|!=|==|>=|<=|[-+*/%^><=(){},])\\s*");

	private static final Pattern NAME = Pattern.compile("[a-zA-Z_:][a-zA-Z0-9_:]*");

	private static final Set<String> AGGREGATIONS = Set.of("sum", "min", "max", "avg", "count");

	private static final Set<String> FUNCTIONS = Set.of("rate", "increase", "max_over_time", "min_over_time", "absent");

	private static final Set<String> SET_OPERATORS = Set.of("and", "or", "unless");

	private final String expression;

	private final Deque<String> tokens = new ArrayDeque<>();

	private final List<Selector> selectors = new ArrayList<>();

	private final Set<String> groupingLabels = new HashSet<>();

	private PromQl(String expression) {
		this.expression = expression;
		Matcher matcher = TOKEN.matcher(expression);
		int end = 0;
		while (end < expression.length()) {
			if (!matcher.find() || matcher.start() != end) {
				throw unexpected(expression.substring(end));
			}
			this.tokens.add(matcher.group(1));
			end = matcher.end();
		}
	}

	/**
	 * Read an expression.
	 * @throws IllegalArgumentException if it is none, or more than this parser knows
	 */
	static PromQl parse(String expression) {
		PromQl result = new PromQl(expression);
		int depth = 0;
		while (!result.tokens.isEmpty()) {
			String token = result.tokens.remove();
			depth += token.equals("(") ? 1 : token.equals(")") ? -1 : 0;
			if (depth < 0 || token.equals("{")) {
				throw result.unexpected(token);
			}
			if (NAME.matcher(token).matches()) {
				result.readName(token);
			}
		}
		if (depth != 0 || result.selectors.isEmpty()) {
			throw result.unexpected("end");
		}
		return result;
	}

	private void readName(String name) {
		if (AGGREGATIONS.contains(name)) {
			if ("by".equals(this.tokens.peek())) {
				this.tokens.remove();
				readLabels();
			}
			expectNext("(");
		}
		else if (FUNCTIONS.contains(name)) {
			expectNext("(");
		}
		else if (!SET_OPERATORS.contains(name)) {
			readSelector(name);
		}
	}

	private void expectNext(String token) {
		if (!token.equals(this.tokens.peek())) {
			throw unexpected(this.tokens.peek());
		}
	}

	private void take(String token) {
		expectNext(token);
		this.tokens.remove();
	}

	private String takeName() {
		String token = this.tokens.poll();
		if (token == null || !NAME.matcher(token).matches()) {
			throw unexpected(token);
		}
		return token;
	}

	private void readLabels() {
		take("(");
		this.groupingLabels.add(takeName());
		while (!")".equals(this.tokens.peek())) {
			take(",");
			this.groupingLabels.add(takeName());
		}
		take(")");
	}

	private void readSelector(String metric) {
		if ("(".equals(this.tokens.peek())) {
			throw unexpected(metric + "(");
		}
		List<LabelMatcher> matchers = new ArrayList<>();
		if ("{".equals(this.tokens.peek())) {
			do {
				this.tokens.remove();
				String label = takeName();
				String operator = this.tokens.poll();
				String value = this.tokens.poll();
				if (operator == null || !Set.of("=", "=~", "!=", "!~").contains(operator) || value == null
						|| !value.startsWith("\"")) {
					throw unexpected(operator);
				}
				matchers.add(new LabelMatcher(label, value.substring(1, value.length() - 1)));
			}
			while (",".equals(this.tokens.peek()));
			take("}");
		}
		this.selectors.add(new Selector(metric, matchers));
	}

	private IllegalArgumentException unexpected(String token) {
		return new IllegalArgumentException("'" + token + "' is not expected in: " + this.expression);
	}

	List<Selector> selectors() {
		return this.selectors;
	}

	Set<String> groupingLabels() {
		return this.groupingLabels;
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
