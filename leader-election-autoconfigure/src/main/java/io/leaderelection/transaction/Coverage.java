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
public enum Coverage {

	/**
	 * They are.
	 */
	FENCED("fenced"),

	/**
	 * Those are that are on the database of the elections; some are, others were not.
	 */
	PARTLY("fenced where on the database of the elections"),

	/**
	 * It is not known yet which database they are on.
	 */
	UNKNOWN("not known yet"),

	/**
	 * They are on another database than the elections.
	 */
	OTHER_DATABASE("not fenced: on another database than the elections"),

	/**
	 * They are reactive, or those of Kotlin coroutines.
	 */
	REACTIVE("not fenced: reactive"),

	/**
	 * They have no JDBC connection of a DataSource that is known.
	 */
	NO_DATA_SOURCE("not fenced: without a DataSource"),

	/**
	 * The transaction manager tells nobody when a transaction begins.
	 */
	NO_CALLBACKS("not fenced: without callbacks"),

	/**
	 * The transaction manager belongs to a parent context, or was created before the
	 * fence.
	 */
	OUT_OF_SIGHT("not fenced: created in a parent context, or too early");

	private final String description;

	Coverage(String description) {
		this.description = description;
	}

	/**
	 * Return whether no transaction is fenced.
	 * @return whether none is
	 */
	public boolean isImpossible() {
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
