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

package io.leaderelection.faults;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

import io.leaderelection.Term;

/**
 * A row that a node has written to the database in a term.
 *
 * @param node the name of the node
 * @param term the term
 * @param number numbers the transactions of a node; 0 for the row by which a node says
 * that the term was granted, which is not fenced
 * @param transaction the id of the transaction that has written the row
 * @param snapshot what its statement saw
 */
record TermRow(String node, Term term, long number, long transaction, Snapshot snapshot) {

	boolean fenced() {
		return this.number != 0;
	}

	/**
	 * Shows which transactions had ended at some time: the database's own order of
	 * events.
	 *
	 * @param end the first transaction id that was not given to anybody yet
	 * @param running those below it that had not ended
	 */
	record Snapshot(long end, Set<Long> running) {

		/**
		 * Parse a {@code pg_snapshot}: {@code xmin:xmax:xip,xip,…}.
		 */
		static Snapshot parse(String text) {
			String[] parts = text.split(":", -1);
			return new Snapshot(Long.parseLong(parts[1]),
					Arrays.stream(parts[2].split(","))
						.filter((id) -> !id.isEmpty())
						.map(Long::valueOf)
						.collect(Collectors.toSet()));
		}

		boolean sees(long transaction) {
			return transaction < this.end && !this.running.contains(transaction);
		}

	}

}
