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

package io.leaderelection.postgresql.table;

import java.util.Random;

import io.leaderelection.postgresql.table.TableOperation.Kind;

/**
 * Chooses operations that are possible in the transactions of the sessions at present.
 */
final class TableCourse {

	static final int SESSIONS = 4;

	static final int ELECTIONS = 2;

	/** Of the sessions in the table, the last ones are used. */
	private static final int TOKENS = 3;

	private final Random random;

	private final Block[] blocks = new Block[SESSIONS];

	private int joined;

	private int terms;

	private int operations;

	TableCourse(Random random) {
		this.random = random;
		for (int session = 0; session < SESSIONS; session++) {
			this.blocks[session] = Block.NONE;
		}
	}

	TableOperation next() {
		int session = this.random.nextInt(SESSIONS);
		int term = (this.terms == 0) ? 0 : this.random.nextBoolean() ? this.terms - 1 : this.random.nextInt(this.terms);
		int token = Math.max(0, this.joined - 1 - this.random.nextInt(TOKENS));
		int beat = ++this.operations - (this.random.nextBoolean() ? 0 : this.random.nextInt(this.operations));
		return new TableOperation(kind(this.blocks[session]), session, this.random.nextInt(ELECTIONS), token, term,
				beat, this.random.nextBoolean());
	}

	private Kind kind(Block block) {
		int choice = this.random.nextInt(100);
		return switch (block) {
			case NONE -> (choice < 25) ? Kind.BEGIN : (choice < 35) ? alone() : statement();
			case BEGUN -> (choice < 50) ? statement() : inBlock();
			case FENCING -> (choice < 40) ? inBlock() : end();
			case CHANGED -> end();
			case FAILED -> Kind.ROLLBACK;
		};
	}

	private Kind alone() {
		if (this.joined < TOKENS || this.terms == 0) {
			return one(Kind.JOIN, Kind.INSERT);
		}
		return one(Kind.JOIN, Kind.LOCKERS, Kind.LOCKERS, Kind.CANDIDATES, Kind.REGISTER, Kind.REQUEST);
	}

	private Kind statement() {
		return (this.terms == 0) ? one(Kind.READ, Kind.RAISE, Kind.TAKE_OVER) : one(Kind.READ, Kind.READ, Kind.RAISE,
				Kind.TAKE_OVER, Kind.TAKE_OVER, Kind.TAKE_OVER, Kind.RELEASE, Kind.EXPIRE, Kind.LEAVE);
	}

	private Kind inBlock() {
		return (this.terms == 0) ? Kind.TRANSACTION_ID
				: one(Kind.TRANSACTION_ID, Kind.FENCE, Kind.FENCE, Kind.FENCE, Kind.IS_HELD);
	}

	private Kind end() {
		return one(Kind.COMMIT, Kind.COMMIT, Kind.ROLLBACK);
	}

	private Kind one(Kind... kinds) {
		return kinds[this.random.nextInt(kinds.length)];
	}

	void follow(TableOperation operation, String answer) {
		Block before = this.blocks[operation.session()];
		this.blocks[operation.session()] = switch (operation.kind()) {
			case BEGIN -> Block.BEGUN;
			case COMMIT, ROLLBACK -> Block.NONE;
			default -> (before == Block.NONE) ? Block.NONE : answer.startsWith(ComparedTable.ERROR) ? Block.FAILED
					: isOfTransaction(operation.kind()) ? Block.FENCING : Block.CHANGED;
		};
		this.joined += (operation.kind() == Kind.JOIN) ? 1 : 0;
		this.terms += answer.startsWith(ComparedTable.TAKEN) ? 1 : 0;
	}

	private static boolean isOfTransaction(Kind kind) {
		return kind == Kind.TRANSACTION_ID || kind == Kind.FENCE || kind == Kind.IS_HELD;
	}

	/**
	 * The transaction block of a session.
	 */
	private enum Block {

		NONE, BEGUN, FENCING, CHANGED, FAILED

	}

}
