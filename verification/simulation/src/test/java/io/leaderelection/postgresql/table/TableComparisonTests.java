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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.postgresql.table.TableOperation.Kind;
import io.leaderelection.simulation.RealServer;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.SimulatedServer;
import io.leaderelection.simulation.server.Seeds;
import io.leaderelection.simulation.server.ServerSettings;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The programs for the simulated table answer as the statements of the library do on
 * PostgreSQL. Sessions take over, raise beats, expire others, pass the fence and release
 * at random, also in transactions that stay open, and all answers are compared.
 */
@Tag("ring2")
class TableComparisonTests {

	private static final Duration BUDGET = Duration.ofSeconds(3);

	private static final Duration LONG_BUDGET = Duration.ofSeconds(30);

	/** A mistake is found earlier, even on a busy machine. */
	private static final Duration SEARCH_BUDGET = Duration.ofMinutes(4);

	private static final int OPERATIONS = 200;

	/** Each test needs tables of its own, since one that fails leaves its rows. */
	private static int tables;

	private final Set<Kind> succeeded = EnumSet.noneOf(Kind.class);

	private int operations;

	@Test
	void answersAsTheLibraryDoesOnPostgreSql() throws Exception {
		run(BUDGET, Sentinel.NONE);
	}

	@Test
	@Tag("ring3")
	void answersAsTheLibraryDoesOnPostgreSqlForLong() throws Exception {
		run(LONG_BUDGET, Sentinel.NONE);
		assertThat(this.succeeded).containsExactly(Kind.values());
	}

	@Test
	@Tag("ring3")
	void findsDeviation() {
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> run(SEARCH_BUDGET, Sentinel.TERM_NOT_COMPARED))
			.withMessageStartingWith("Run this again")
			.withMessageContaining("expected: ");
		assertThat(this.operations).isPositive();
	}

	private void run(Duration budget, Sentinel sentinel) throws Exception {
		int seeds = Seeds.run(budget, (random) -> compare(random, sentinel));
		System.out.println(this.operations + " operations of " + seeds + " seeds gave the same answers");
	}

	private void compare(Random random, Sentinel sentinel) throws Exception {
		List<String> history = new ArrayList<>();
		TableCourse course = new TableCourse(random);
		Tables named = Tables.named("public.compared_" + ++tables);
		RealServer.SERVER.execute(LeaseTableShape.script(named.elections()));
		SimulatedServer server = new SimulatedServer(new Random(random.nextLong()), ServerSettings.DEFAULTS);
		ServerInspection inspection = inspection();
		boolean direct = random.nextBoolean();
		try (ComparedTable real = new ComparedTable(new RealServer(),
				new LeaseTableSql(named, inspection, direct, ComparedTable.TIMEOUT_MILLIS), direct);
				ComparedTable simulated = new ComparedTable(server, new LeaseTablePrograms(inspection, direct,
						ComparedTable.TIMEOUT_MILLIS, sentinel, server.texts()), direct)) {
			for (int count = 0; count < OPERATIONS; count++) {
				TableOperation operation = course.next();
				history.add(operation.toString());
				String answer = real.run(operation);
				history.add("  " + answer);
				assertThat(simulated.run(operation)).as(String.join("\n", history)).isEqualTo(answer);
				if (hasSucceeded(operation.kind(), answer)) {
					this.succeeded.add(operation.kind());
				}
				course.follow(operation, answer);
				this.operations++;
			}
		}
		RealServer.SERVER.execute("DROP TABLE " + named.elections() + ", " + named.nodes() + ", " + named.candidates());
	}

	private static ServerInspection inspection() throws SQLException {
		try (Connection connection = RealServer.SERVER.connect()) {
			return ServerInspection.inspect(connection);
		}
	}

	/**
	 * Return whether an operation had its effect, and was not refused.
	 */
	private static boolean hasSucceeded(Kind kind, String answer) {
		return switch (kind) {
			case RAISE -> answer.contains("raised=true");
			case TAKE_OVER -> answer.startsWith(ComparedTable.TAKEN);
			case FENCE -> answer.contains("passed=true");
			case LOCKERS -> answer.contains("pid=session");
			case EXPIRE, LEAVE -> answer.contains("token=");
			case RELEASE -> answer.contains("election=");
			default -> !answer.isEmpty() && !answer.startsWith(ComparedTable.ERROR);
		};
	}

}
