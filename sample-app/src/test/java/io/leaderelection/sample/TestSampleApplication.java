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

package io.leaderelection.sample;

import javax.sql.DataSource;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnExpression;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;

/**
 * Starts the sample for development, with a PostgreSQL that other instances join.
 */
@TestConfiguration(proxyBeanMethods = false)
public class TestSampleApplication {

	public static void main(String[] args) throws Exception {
		switch (String.join(" ", args)) {
			case "postgres" -> DevelopmentPostgres.hold();
			case "serve" -> DevelopmentPostgres.serve();
			default -> SpringApplication.from(SampleApplication::main).with(TestSampleApplication.class).run(args);
		}
	}

	@Bean
	@ConditionalOnExpression("environment['spring.datasource.url'] == null")
	DataSource dataSource() throws Exception {
		return DataSourceBuilder.create().url(DevelopmentPostgres.join()).build();
	}

}
