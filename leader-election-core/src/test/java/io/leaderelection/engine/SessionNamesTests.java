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

package io.leaderelection.engine;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link SessionNames}.
 */
@Tag("ring1")
class SessionNamesTests {

	private static final String LONG_ID = "a-host-name-of-a-data-centre.with.its-domain.example.com-1234-abcd";

	private final SessionNames names = new SessionNames("default");

	@ParameterizedTest
	@ValueSource(strings = { "node", "knoten-ü", "a b", "a$b", "a'b", "a\\b", LONG_ID, LONG_ID + "ü", "x~" })
	void visibleIdIsThatInTheNameOfTheSession(String id) {
		String visible = this.names.visibleId(id);
		assertThat(this.names.nodeOf(this.names.of(id))).isEqualTo(visible);
		assertThat(this.names.visibleId(visible)).isEqualTo(visible);
		assertThat(this.names.of(id)).hasSizeLessThanOrEqualTo(63).matches("[\\x20-\\x7e]+").doesNotContain("$", "'");
	}

	@Test
	void visibleIdHasNoCharacterThatAStoreMayChange() {
		assertThat(this.names.visibleId("a b$c'd\\eü")).isEqualTo("a_b_c_d_e_~176xozu");
	}

	/**
	 * The name is a contract between versions.
	 */
	@ParameterizedTest
	@CsvSource({ "web-1436-55ck, web-1436-55ck",
			"123456789-123456789-123456789-123456789, 123456789-123456789-123456789-123456789",
			"123456789-123456789-123456789-12345678a~, 123456789-~0p3160f~123456789-12345678a~",
			"orders-api-worker-0.orders-api.production.svc.cluster.local, orders-api~0t7tjrc~on.svc.cluster.local",
			"orders-api-worker-1.orders-api.production.svc.cluster.local, orders-api~0zw2uw9~on.svc.cluster.local",
			"北京, __~1kpw5u9", "上海, __~1yx7xbx", "büro 1, b_ro_1~115mecv" })
	void visibleIdsOfDifferentNodesAreDifferent(String id, String visible) {
		assertThat(this.names.visibleId(id)).isEqualTo(visible);
	}

	@Test
	void replacedIdIsKeptWholeIfItsHashFits() {
		String id = "x".repeat(30);
		assertThat(this.names.visibleId("ü" + id)).hasSize(39).startsWith("_" + id + "~");
	}

	/**
	 * The name is a contract between versions.
	 */
	@ParameterizedTest
	@CsvSource({ "abcdefghijklmnopqrst, abcdefghijklmnopqrst", "abcdefghijklmnopqrstu, abcdef~ijklmnopqrstu" })
	void longNameOfAnElectionIsShortened(String election, String visible) {
		assertThat(new SessionNames(election).of("node")).isEqualTo("leader-election " + visible + " node");
	}

	@Test
	void idsThatDifferWhereTheyAreShortenedOrReplacedAreNotTheSame() {
		String id = "orders-api-worker-%d.orders-api.production.svc.cluster.local";
		assertThat(this.names.isSame(id.formatted(0), id.formatted(1))).isFalse();
		assertThat(this.names.isSame("北京", "上海")).isFalse();
		assertThat(this.names.isSame(id.formatted(0), this.names.visibleId(id.formatted(0)))).isTrue();
		assertThat(this.names.isSame(this.names.visibleId("北京"), "北京")).isTrue();
	}

	@Test
	void lengthOfVisibleIdDependsOnTheElection() {
		assertThat(new SessionNames("an-election-with-a-long-name").visibleId(LONG_ID)).hasSize(26);
		assertThat(new SessionNames("e").visibleId(LONG_ID)).hasSize(45).contains("~").endsWith("-1234-abcd");
	}

}
