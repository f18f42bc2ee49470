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

package io.leaderelection.autoconfigure;

import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.postgresql.advisory.SessionSockets;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;

/**
 * Hints for the scripts of the tables, for types that are found by name, and for those of
 * data sources and transaction managers whose properties are read. Without them, a native
 * image would treat present libraries as missing and, for instance, reject guarded
 * methods that return publishers.
 */
class LeaderElectionRuntimeHints implements RuntimeHintsRegistrar {

	private static final String SCHEDULE_SCHEMA = "io/leaderelection/schedule/schema-schedule-postgresql.sql";

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.resources().registerPattern("io/leaderelection/postgresql/schema-postgresql.sql");
		hints.resources()
			.registerPatternIfPresent(classLoader, SCHEDULE_SCHEMA, (hint) -> hint.includes(SCHEDULE_SCHEMA));
		ReflectionHints reflection = hints.reflection();
		Stream
			.of("com.zaxxer.hikari.HikariDataSource", "kotlin.reflect.full.KClasses",
					"kotlinx.coroutines.reactor.MonoKt", "org.postgresql.PGConnection",
					"org.springframework.orm.jpa.JpaTransactionManager",
					"org.springframework.transaction.PlatformTransactionManager", "reactor.core.publisher.Flux")
			.forEach((type) -> reflection.registerTypeIfPresent(classLoader, type, (hint) -> {
			}));
		Stream.of("org.apache.commons.dbcp2.BasicDataSource", "org.apache.tomcat.jdbc.pool.DataSource",
				"org.apache.tomcat.jdbc.pool.PoolProperties", "org.postgresql.ds.PGPoolingDataSource",
				"org.postgresql.ds.PGSimpleDataSource", "org.springframework.jdbc.datasource.DriverManagerDataSource",
				"org.springframework.jdbc.datasource.SimpleDriverDataSource",
				"org.springframework.jdbc.datasource.SingleConnectionDataSource",
				"org.springframework.orm.hibernate5.HibernateTransactionManager",
				"org.springframework.orm.jpa.hibernate.HibernateTransactionManager")
			.forEach((type) -> reflection.registerTypeIfPresent(classLoader, type, MemberCategory.INVOKE_PUBLIC_METHODS,
					MemberCategory.INVOKE_DECLARED_METHODS));
		reflection.registerType(SessionSockets.class, MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
		reflection.registerTypeIfPresent(classLoader, "kotlinx.coroutines.reactor.MonoKt",
				(hint) -> registerSuspendingCalls(reflection));
	}

	private static void registerSuspendingCalls(ReflectionHints reflection) {
		reflection.registerType(TypeReference.of("org.springframework.core.CoroutinesUtils"),
				(hint) -> hint.withMethod(
						"invokeSuspendingFunction", List.of(TypeReference.of("java.lang.reflect.Method"),
								TypeReference.of(Object.class), TypeReference.of(Object[].class)),
						ExecutableMode.INVOKE));
	}

}
