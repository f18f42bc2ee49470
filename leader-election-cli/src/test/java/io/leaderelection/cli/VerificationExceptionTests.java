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

package io.leaderelection.cli;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link VerificationException}: what proves that elections do not hold.
 */
@Tag("ring1")
class VerificationExceptionTests {

	@ParameterizedTest
	@CsvSource({ "08001, CONNECTION_LOST", "08P01, CONNECTION_LOST", "57P01, CONNECTION_LOST", "57P03, CONNECTION_LOST",
			"53100, NO_RESOURCES", "53200, NO_RESOURCES", "53300, NO_RESOURCES", "40001, ROLLED_BACK",
			"40P01, ROLLED_BACK", "55P03, LOCKED", "25P03, IDLE_TRANSACTION", "57014, CANCELLED" })
	void obstacleProvesNothing(String state, Obstacle obstacle) {
		SQLException failure = new SQLException("reason", state);
		assertUndetermined(VerificationException.of("session", failure), obstacle);
		assertUndetermined(VerificationException.of("session", new SessionException("no session", failure)), obstacle);
		assertUndetermined(VerificationException.of("schema", "reason", ". Use another role.", failure), obstacle);
	}

	@Test
	void connectionPoolWithoutFreeConnectionProvesNothing() {
		assertUndetermined(
				VerificationException.of("fence",
						new IllegalStateException(new SQLTransientConnectionException("timed out"))),
				Obstacle.CONNECTION_LOST);
	}

	private static void assertUndetermined(VerificationException failure, Obstacle obstacle) {
		assertThat(failure.isProven()).isFalse();
		assertThat(failure.action()).isEqualTo(obstacle.action());
		assertThat(failure.getMessage()).doesNotContain("Use another role");
	}

	@ParameterizedTest
	@ValueSource(strings = { "42501", "25006", "55000", "57P05", "25P04", "0A000" })
	void complaintOfTheServerIsProof(String state) {
		SQLException failure = new SQLException("reason", state);
		assertThat(VerificationException.of("session", failure).isProven()).isTrue();
		assertThat(VerificationException.of("schema", "reason", ". Use another role.", failure))
			.satisfies((ex) -> assertThat(ex.isProven()).isTrue())
			.hasMessage("reason. Use another role.");
	}

	@Test
	void complaintOfTheLibraryIsProof() {
		VerificationException failure = VerificationException.of("session", new IllegalStateException(
				new UnusableStoreException("A pooler.", "Connect directly.", new SQLException("reason", "08001"))));
		assertThat(failure.isProven()).isTrue();
		assertThat(failure).hasMessage("A pooler. Connect directly.");
	}

	@Test
	void unexpectedExceptionProvesNothing() {
		VerificationException failure = VerificationException.of("election", new IllegalStateException("unexpected"));
		assertThat(failure.isProven()).isFalse();
		assertThat(failure.action()).contains("--debug");
	}

}
