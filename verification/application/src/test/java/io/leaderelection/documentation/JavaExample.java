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

package io.leaderelection.documentation;

import java.net.URI;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.tools.SimpleJavaFileObject;

import io.leaderelection.documentation.Markdown.CodeBlock;

/**
 * An example in Java as a file that can be compiled: in a package of its own, with the
 * imports that readers of the document are expected to find by themselves, and with what
 * it lacks around it. The lines of the example have the numbers that they have in the
 * document.
 */
final class JavaExample extends SimpleJavaFileObject {

	private static final String IMPORTS = Stream.of("java.io.*", "java.lang.annotation.*", "java.sql.Connection",
			"java.time.*", "java.util.*", "java.util.concurrent.*", "javax.sql.DataSource", "io.leaderelection.*",
			"io.leaderelection.autoconfigure.LeaderElectionConnectionDetails",
			"io.leaderelection.autoconfigure.LeaderElectionDataSource", "io.leaderelection.annotation.*",
			"io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy",
			"io.leaderelection.LeadershipRevokedEvent.Reason", "io.leaderelection.schedule.*",
			"io.leaderelection.test.*", "net.javacrumbs.shedlock.core.*",
			"net.javacrumbs.shedlock.provider.jdbctemplate.*", "net.javacrumbs.shedlock.spring.annotation.*",
			"org.apache.kafka.clients.consumer.ConsumerRecord", "org.junit.jupiter.api.Test",
			"org.postgresql.ds.PGSimpleDataSource", "org.springframework.beans.factory.annotation.*",
			"org.springframework.boot.jdbc.DataSourceBuilder", "org.springframework.boot.test.context.*",
			"org.springframework.boot.testcontainers.service.connection.ServiceConnection",
			"org.springframework.boot.webmvc.test.autoconfigure.*", "org.springframework.context.*",
			"org.springframework.context.annotation.*", "org.springframework.context.event.EventListener",
			"org.springframework.http.HttpStatus", "org.springframework.integration.annotation.*",
			"org.springframework.integration.annotation.Role", "org.springframework.integration.core.MessageSource",
			"org.springframework.integration.dsl.*", "org.springframework.integration.jdbc.lock.*",
			"org.springframework.integration.leader.*", "org.springframework.integration.leader.event.*",
			"org.springframework.integration.support.leader.*", "org.springframework.jdbc.core.JdbcTemplate",
			"org.springframework.jdbc.core.simple.JdbcClient",
			"org.springframework.jdbc.datasource.DelegatingDataSource",
			"org.springframework.jdbc.support.JdbcTransactionManager",
			"org.springframework.kafka.annotation.KafkaListener", "org.springframework.kafka.config.*",
			"org.springframework.kafka.listener.*", "org.springframework.pulsar.config.*",
			"org.springframework.scheduling.annotation.*", "org.springframework.stereotype.*",
			"org.springframework.test.web.servlet.assertj.MockMvcTester",
			"org.springframework.transaction.annotation.Transactional", "org.testcontainers.junit.jupiter.Container",
			"org.testcontainers.postgresql.PostgreSQLContainer", "reactor.core.publisher.*",
			"static org.assertj.core.api.Assertions.*", "io.leaderelection.documentation.Surroundings.*")
		.map((name) -> "import " + name + ";")
		.collect(Collectors.joining(" "));

	private static final Pattern IMPORT = Pattern.compile("(?m)^import .+;$");

	private final CodeBlock block;

	private final Form form;

	JavaExample(CodeBlock block, Form form) {
		super(URI.create("string:///" + packageOf(block).replace('.', '/') + "/Example.java"), Kind.SOURCE);
		this.block = block;
		this.form = form;
	}

	/**
	 * The ways to read an example, from the most particular one on.
	 */
	static List<JavaExample> readings(CodeBlock block) {
		return Stream.of(Form.values()).map((form) -> new JavaExample(block, form)).toList();
	}

	CodeBlock block() {
		return this.block;
	}

	Form form() {
		return this.form;
	}

	String packageName() {
		return packageOf(this.block);
	}

	private static String packageOf(CodeBlock block) {
		return JavaExample.class.getPackageName() + "." + block.document().replaceAll("\\W", "_") + ".line"
				+ block.line();
	}

	@Override
	public String toString() {
		return this.block.toString();
	}

	@Override
	public boolean isNameCompatible(String simpleName, Kind kind) {
		return true;
	}

	@Override
	public CharSequence getCharContent(boolean ignoreEncodingErrors) {
		String imports = IMPORT.matcher(this.block.code())
			.results()
			.map((result) -> result.group())
			.collect(Collectors.joining(" "));
		return "package " + packageName() + "; " + imports + " " + IMPORTS + " " + this.form.before
				+ "\n".repeat(this.block.line() - 1) + IMPORT.matcher(this.block.code()).replaceAll("")
				+ this.form.after;
	}

	/**
	 * What an example consists of.
	 */
	enum Form {

		/**
		 * Whole types.
		 */
		TYPES("", ""),

		/**
		 * The content of a method.
		 */
		STATEMENTS("class Example extends io.leaderelection.documentation.Surroundings {"
				+ " @Override public void run() throws Exception {", "\n}}"),

		/**
		 * The content of a class.
		 */
		MEMBERS("@Configuration(proxyBeanMethods = false)"
				+ " class Example extends io.leaderelection.documentation.Surroundings {", "\n}");

		private final String before;

		private final String after;

		Form(String before, String after) {
			this.before = before;
			this.after = after;
		}

	}

}
