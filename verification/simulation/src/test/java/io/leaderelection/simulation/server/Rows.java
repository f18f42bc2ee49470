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

package io.leaderelection.simulation.server;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * An answer: the rows of the last statement, if it returns any, with values by the names
 * of their columns, and a message.
 */
public final class Rows {

	private final List<Map<String, @Nullable Object>> rows = new ArrayList<>(1);

	private final @Nullable String message;

	public Rows() {
		this(null);
	}

	private Rows(@Nullable String message) {
		this.message = message;
	}

	/**
	 * Return an answer that is a message.
	 */
	public static Rows message(String message) {
		return new Rows(message);
	}

	/**
	 * Return an answer of one row.
	 * @param columns names and values, in turn
	 */
	public static Rows of(@Nullable Object... columns) {
		return new Rows().add(columns);
	}

	/**
	 * Add a row.
	 * @param columns names and values, in turn
	 */
	public Rows add(@Nullable Object... columns) {
		Map<String, @Nullable Object> row = new LinkedHashMap<>();
		for (int index = 0; index < columns.length; index += 2) {
			row.put((String) Objects.requireNonNull(columns[index]), columns[index + 1]);
		}
		this.rows.add(row);
		return this;
	}

	public @Nullable String message() {
		return this.message;
	}

	public List<Map<String, @Nullable Object>> list() {
		return this.rows;
	}

}
