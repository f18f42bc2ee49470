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

package io.leaderelection.transaction;

/**
 * Whether the transactions of a transaction manager are fenced.
 */
enum Coverage {

	/** All are fenced. */
	FENCED("fenced"),

	/**
	 * Only transactions on the election database are fenced; some were on another
	 * database.
	 */
	PARTLY("fenced only on the election database"),

	/**
	 * The database of the transactions is not known yet.
	 */
	UNKNOWN("not known yet"),

	/**
	 * Each commit fails, since the statement of the fence does, until its role is granted
	 * what it needs.
	 */
	REFUSED("refused: their role lacks a privilege for the fence"),

	/**
	 * The transactions are not on the election database.
	 */
	OTHER_DATABASE("not fenced: not on the election database"),

	/**
	 * The transactions are reactive, or those of Kotlin coroutines.
	 */
	REACTIVE("not fenced: reactive"),

	/**
	 * The transactions have no JDBC connection of a known DataSource.
	 */
	NO_DATA_SOURCE("not fenced: without a DataSource"),

	/**
	 * The transaction manager does not support transaction execution listeners.
	 */
	NO_CALLBACKS("not fenced: without callbacks"),

	/**
	 * The transaction manager has no listener for the fence: it belongs to a parent
	 * context, was created too early, or its listeners have been replaced.
	 */
	NOT_REGISTERED("not fenced: in a parent context, created too early, or with replaced listeners");

	private final String description;

	Coverage(String description) {
		this.description = description;
	}

	/**
	 * Return whether this can change without a commit.
	 */
	boolean isPreliminary() {
		return this == UNKNOWN || this == REFUSED;
	}

	/**
	 * Return whether no transaction can be fenced.
	 */
	boolean isImpossible() {
		return this != FENCED && this != PARTLY && this != UNKNOWN;
	}

	/**
	 * Return the coverage in words.
	 */
	@Override
	public String toString() {
		return this.description;
	}

}
