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

import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipLostException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the documents say is not fenced, beside what helps. These tests show that its
 * limits are where it says.
 */
@Tag("ring1")
class FencingLimitsTests extends AbstractFencedTests {

	@BeforeAll
	static void start() {
		start(FencedApplication.Application.class);
	}

	@Test
	void statementThatCommitsItselfIsNotFenced() {
		this.elector.runIfLeader(() -> {
			loseTerm();
			insert("a");
		});
		assertThat(rows()).isOne();
	}

	@Test
	void statementInATransactionIsFenced() {
		assertRefused(() -> this.elector.runIfLeader(() -> {
			loseTerm();
			this.transaction.executeWithoutResult((status) -> insert("a"));
		}));
		assertThat(rows()).isZero();
	}

	@Test
	void workThatHopsToAnotherThreadIsNotFenced() {
		this.elector.runIfLeader(() -> {
			loseTerm();
			CompletableFuture.runAsync(() -> this.transaction.executeWithoutResult((status) -> insert("a"))).join();
		});
		assertThat(rows()).isOne();
	}

	@Test
	void workThatIsGuardedOnItsOwnThreadIsFenced() {
		Throwable failure = CompletableFuture.runAsync(() -> inTransaction(() -> {
			insert("a");
			loseTerm();
		})).handle((result, ex) -> ex.getCause()).join();
		assertThat(failure).isInstanceOf(LeadershipLostException.class);
		assertThat(rows()).isZero();
	}

	@Test
	void whatIsWrittenAfterTheCommitIsNotFenced() {
		afterCommit(() -> insert("a"));
		assertThat(rows()).isOne();
	}

	@Test
	void whatIsWrittenAfterTheCommitInANewTransactionIsFenced() {
		TransactionTemplate requiringNew = transaction(Propagation.REQUIRES_NEW);
		assertRefused(() -> afterCommit(() -> requiringNew.executeWithoutResult((status) -> insert("a"))));
		assertThat(rows()).isZero();
	}

	private void afterCommit(Runnable action) {
		inTransaction(() -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void afterCommit() {
				loseTerm();
				action.run();
			}

		}));
	}

}
