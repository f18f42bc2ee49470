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

package io.leaderelection.model;

import java.util.Map;
import java.util.TreeMap;

/**
 * Reads a state as TLC prints it: records, functions and simple values, of which
 * sequences are one.
 */
final class TlaValue {

	private final String text;

	private final Map<String, String> leaves;

	private int position;

	private TlaValue(String text, Map<String, String> leaves) {
		this.text = text;
		this.leaves = leaves;
	}

	/**
	 * Return the simple values of a state by their paths.
	 * @param state the state, a conjunction of variables and their values
	 */
	static Map<String, String> leaves(String state) {
		Map<String, String> leaves = new TreeMap<>();
		for (String conjunct : state.replaceAll("\\s+", " ").split("(^| )/\\\\ ")) {
			int equals = conjunct.indexOf(" = ");
			if (equals > 0) {
				new TlaValue(conjunct.substring(equals + 3) + " ", leaves).read(conjunct.substring(0, equals));
			}
		}
		return leaves;
	}

	private void read(String path) {
		skip(" ");
		if (skip("[")) {
			readEntries(path, " |-> ", ",", "]");
		}
		else if (skip("(")) {
			readEntries(path, " :> ", "@@", ")");
		}
		else {
			this.leaves.put(path, readSimple());
		}
	}

	private void readEntries(String path, String arrow, String separator, String end) {
		do {
			skip(" ");
			int to = this.text.indexOf(arrow, this.position);
			String key = this.text.substring(this.position, to).strip();
			this.position = to + arrow.length();
			read(path + '.' + key);
			skip(" ");
		}
		while (skip(separator));
		if (!skip(end)) {
			throw new IllegalArgumentException("No '" + end + "' at " + this.position + " of " + this.text);
		}
	}

	private String readSimple() {
		int start = this.position;
		String end = (this.text.charAt(start) == '{') ? "}" : this.text.startsWith("<<", start) ? ">>" : "";
		if (!end.isEmpty()) {
			this.position = this.text.indexOf(end, start) + end.length();
		}
		while (" ,])".indexOf(this.text.charAt(this.position)) < 0) {
			this.position++;
		}
		return this.text.substring(start, this.position).replace("\"", "");
	}

	private boolean skip(String token) {
		boolean found = this.text.startsWith(token, this.position);
		if (found) {
			this.position += token.length();
		}
		return found;
	}

}
