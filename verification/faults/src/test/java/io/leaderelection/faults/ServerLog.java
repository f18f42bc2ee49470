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

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.leaderelection.testsupport.PostgreSqlServer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the server has logged about sessions of elections since some moment, at WARNING or
 * above. Lines that say more about another one (STATEMENT, CONTEXT and the like) belong
 * to that one.
 */
final class ServerLog {

	/** By the {@code log_line_prefix} of the servers of the tests: "%m,%p,%a,". */
	private static final Pattern COMPLAINT = Pattern
		.compile("[^,]*,(\\d+),(leader-election [^,]*),(WARNING|ERROR|FATAL|PANIC): +(.*)");

	private final PostgreSqlServer server;

	private final int start;

	/**
	 * Read what is logged from now on.
	 * @param server the server
	 */
	ServerLog(PostgreSqlServer server) {
		this.server = server;
		this.start = server.log().length();
	}

	/**
	 * Return everything, about any node.
	 */
	String text() {
		return this.server.log().substring(this.start);
	}

	List<Complaint> complaints() {
		return text().lines()
			.map(COMPLAINT::matcher)
			.filter(Matcher::matches)
			.map((line) -> new Complaint(Integer.parseInt(line.group(1)), line.group(2), line.group(3), line.group(4)))
			.toList();
	}

	/**
	 * G7 in normal operation and orderly hand-over: nothing.
	 */
	void verifyQuiet() {
		assertThat(complaints()).isEmpty();
	}

	/**
	 * G7 around a fault: at most one line for each session that has died, at the moment
	 * it died, and never one for a wait.
	 */
	void verifyOneLinePerDeadSession() {
		assertThat(complaints()).allMatch((complaint) -> complaint.severity().equals("FATAL"));
		assertThat(complaints().stream().collect(Collectors.groupingBy(Complaint::pid)).values())
			.allMatch((ofSession) -> ofSession.size() == 1);
	}

	/**
	 * A line of the log.
	 *
	 * @param pid the process id of the session
	 * @param session its name
	 * @param severity how bad
	 * @param message what
	 */
	record Complaint(int pid, String session, String severity, String message) {
	}

}
