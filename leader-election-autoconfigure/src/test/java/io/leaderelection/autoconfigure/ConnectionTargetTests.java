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
import java.util.Properties;

import io.leaderelection.postgresql.ConnectionSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

/**
 * Tests for {@link ConnectionTarget}.
 */
@Tag("ring1")
class ConnectionTargetTests {

	@Test
	void settingsOfTheElectionTakePrecedence() {
		assertThat(properties("jdbc:postgresql://host/db", "tcpKeepAlive")).containsOnly(entry("tcpKeepAlive", "ours"),
				entry("socketFactory", "ours"), entry("socketFactoryArg", "ours"));
	}

	@Test
	void factoryOfSocketsAmongTheDriverPropertiesRemains() {
		assertThat(properties("jdbc:postgresql://host/db", "socketFactory")).containsOnly(entry("tcpKeepAlive", "ours"),
				entry("socketFactory", "theirs"));
	}

	@ParameterizedTest
	@CsvSource({ "?socketFactory=theirs, false", "?a=b&socketFactory=theirs&c=d, false",
			"?socketFactoryArg=theirs, true", "?ApplicationName=socketFactory, true" })
	void factoryOfSocketsInTheUrlHasNoOtherArgument(String parameters, boolean ours) {
		assertThat(properties("jdbc:postgresql://host/db" + parameters, "tcpKeepAlive").containsKey("socketFactoryArg"))
			.isEqualTo(ours);
	}

	@ParameterizedTest
	@CsvSource({ "?queryTimeout=1&a=b, ?a=b", "?a=b&queryTimeout=1&maxResultBuffer&c=d, ?a=b&c=d",
			"?preferQueryMode=extended, ?", "?a=queryTimeout=1&b, ?a=queryTimeout=1&b",
			"/readOnly?readOnly, /readOnly?readOnly" })
	void urlHasNoParametersOnWhichElectionsDepend(String parameters, String remaining) {
		assertThat(ConnectionSource.withoutRequired(parameters)).isEqualTo(remaining);
	}

	private static Properties properties(String url, String theirs) {
		Properties driverProperties = new Properties();
		driverProperties.setProperty(theirs, "theirs");
		Properties settings = new Properties();
		List.of("tcpKeepAlive", "socketFactory", "socketFactoryArg").forEach((name) -> settings.put(name, "ours"));
		return new ConnectionTarget(url, null, null, null, driverProperties, null, List.of()).properties(settings);
	}

}
