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

package io.leaderelection.integration;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.logging.LoggingSystem;
import org.springframework.boot.logging.logback.StructuredLogEncoder;
import org.springframework.core.env.Environment;
import org.springframework.core.env.StandardEnvironment;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the log of two nodes in the formats of Spring Boot's structured logging.
 */
@Tag("ring1")
class StructuredLogTests {

	@RegisterExtension
	final Nodes nodes = new Nodes();

	private final Logger logger = (Logger) LoggerFactory.getLogger("io.leaderelection.engine");

	/**
	 * An application would remove the appender of the test.
	 */
	@BeforeEach
	void keepAppenders() {
		System.setProperty(LoggingSystem.SYSTEM_PROPERTY, LoggingSystem.NONE);
	}

	@AfterEach
	void clear() {
		System.clearProperty(LoggingSystem.SYSTEM_PROPERTY);
	}

	@Test
	void changesOfLeadershipCanBeQueriedInTheFormatOfElasticsearch() {
		JsonLog log = log("ecs");
		assertThat(log.lines("Acquired").get(0).get("leader")).isEqualTo(log.json("""
				{ "election": "default", "node": "first", "term": "%s" }""".formatted(log.first)));
		assertThat(log.lines("Not leader, skipping scheduler startup").get(0).get("leader")).isEqualTo(log.json("""
				{ "election": "default", "node": "second", "current": "first", "current-term": "%s" }"""
			.formatted(log.first)));
		for (String message : List.of("Handing over", "Released")) {
			assertThat(log.lines(message).get(0).get("leader")).isEqualTo(log.json("""
					{ "election": "default", "node": "first", "term": "%s", "reason": "stopped" }"""
				.formatted(log.first)));
		}
		assertThat(log.lines("Acquired").get(1).get("leader")).isEqualTo(log.json("""
				{ "election": "default", "node": "second", "term": "%s" }""".formatted(log.second)));
	}

	@Test
	void changesOfLeadershipCanBeQueriedInTheFormatOfLogstash() {
		JsonLog log = log("logstash");
		assertThat(log.values("Acquired")).containsExactly(
				Map.of("leader.election", "default", "leader.node", "first", "leader.term", log.first),
				Map.of("leader.election", "default", "leader.node", "second", "leader.term", log.second));
		assertThat(log.values("Released").get(0)).isEqualTo(Map.of("leader.election", "default", "leader.node", "first",
				"leader.term", log.first, "leader.reason", "stopped"));
	}

	private JsonLog log(String format) {
		JsonLog log = new JsonLog(format);
		this.logger.addAppender(log);
		try {
			LocalNode first = this.nodes.start("leader-election.node-id=first").awaitLeader();
			log.first = first.elector().getLeadership().getTerm().toString();
			LocalNode second = this.nodes.start("leader-election.node-id=second");
			first.close();
			log.second = second.awaitLeader().elector().getLeadership().getTerm().toString();
			second.close();
		}
		finally {
			this.logger.detachAppender(log);
		}
		return log;
	}

	/**
	 * Writes JSON as Spring Boot does with {@code logging.structured.format.console}.
	 */
	private static final class JsonLog extends AppenderBase<ILoggingEvent> {

		private final StructuredLogEncoder encoder = new StructuredLogEncoder();

		private final List<JsonNode> lines = new CopyOnWriteArrayList<>();

		private String first;

		private String second;

		JsonLog(String format) {
			LoggerContext loggers = new LoggerContext();
			loggers.putObject(Environment.class.getName(), new StandardEnvironment());
			this.encoder.setContext(loggers);
			this.encoder.setFormat(format);
			this.encoder.start();
			start();
		}

		@Override
		protected void append(ILoggingEvent event) {
			this.lines.add(json(new String(this.encoder.encode(event), StandardCharsets.UTF_8)));
		}

		JsonNode json(String text) {
			return JsonMapper.shared().readTree(text);
		}

		List<JsonNode> lines(String message) {
			return this.lines.stream().filter((line) -> line.get("message").asString().startsWith(message)).toList();
		}

		List<Map<String, String>> values(String message) {
			return lines(message).stream()
				.map((line) -> line.properties()
					.stream()
					.filter((field) -> field.getKey().startsWith("leader."))
					.collect(Collectors.toMap(Map.Entry::getKey, (field) -> field.getValue().asString())))
				.toList();
		}

	}

}
