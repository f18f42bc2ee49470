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

package io.leaderelection.postgresql;

import java.util.Map;

import io.leaderelection.engine.NodeProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Profiles}.
 */
@Tag("ring1")
class ProfilesTests {

	private static final NodeProfile PROFILE = new NodeProfile(1, 10,
			Map.of("url", "http://10.0.0.7:8080", "zone", "ä"));

	@Test
	void keyIsAContractBetweenVersions() {
		assertThat(Profiles.key(NodeProfile.DEFAULT, false)).isEqualTo(0x80030000);
		assertThat(Profiles.key(NodeProfile.DEFAULT, true)).isEqualTo(0x80430000);
		assertThat(Profiles.key(new NodeProfile(3, 100, Map.of("a", "bcd")), true)).isEqualTo(0x80436405);
	}

	@Test
	void profileIsReadFromItsKey() {
		for (boolean fast : new boolean[] { false, true }) {
			int key = Profiles.key(PROFILE, fast);
			assertThat(Profiles.of(key, PROFILE.metadata())).isEqualTo(PROFILE);
			assertThat(Profiles.hasMetadata(key)).isTrue();
			assertThat(Profiles.isFast(key)).isEqualTo(fast);
			key = Profiles.key(NodeProfile.DEFAULT, fast);
			assertThat(Profiles.of(key, PROFILE.metadata())).isEqualTo(NodeProfile.DEFAULT);
			assertThat(Profiles.hasMetadata(key)).isFalse();
			assertThat(Profiles.isFast(key)).isEqualTo(fast);
		}
	}

	@Test
	void takeoverFromANodeOfAnEarlierVersionIsNotFast() {
		int key = 0x80810000;
		assertThat(Profiles.isFast(key)).isFalse();
		assertThat(Profiles.of(key, Map.of())).isEqualTo(new NodeProfile(1, 0, Map.of()));
	}

	@Test
	void textIsAContractBetweenVersions() {
		assertThat(Profiles.text(NodeProfile.DEFAULT)).isEqualTo("3 0 0 ");
		assertThat(Profiles.text(PROFILE)).isEqualTo("1 10 0 url=http://10.0.0.7:8080\nzone=ä");
	}

	@Test
	void profileIsReadFromItsText() {
		assertThat(Profiles.ofText(Profiles.text(PROFILE))).isEqualTo(PROFILE);
		assertThat(Profiles.ofText("1 0 4 ")).isEqualTo(new NodeProfile(1, 0, 4, Map.of()));
		assertThat(Profiles.ofText("1 0 ")).as("of an earlier version").isEqualTo(new NodeProfile(1, 0, Map.of()));
	}

	@Test
	void nodeThatPublishesNothingHasNoProfile() {
		assertThat(Profiles.of(0, Map.of())).isEqualTo(NodeProfile.UNKNOWN);
		assertThat(Profiles.isFast(0)).isFalse();
		assertThat(Profiles.hasMetadata(0)).isFalse();
		assertThat(Profiles.ofText(null)).isEqualTo(NodeProfile.UNKNOWN);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", " ", "1", "1 0", "a b c", "1234 0 ", "-1 0 " })
	void textOfAnotherFormIsUnknown(String text) {
		assertThat(Profiles.ofText(text)).isEqualTo(NodeProfile.UNKNOWN);
	}

}
