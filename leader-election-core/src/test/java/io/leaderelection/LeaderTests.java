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

package io.leaderelection;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link Leader}.
 */
@Tag("ring1")
class LeaderTests {

	@Test
	void eventsNameTheLeaderAndTheTerm() {
		Leader leader = new Leader("node-2", new Term(0, 1, 775), null, Map.of(), "shop");
		assertThat(new LeaderChangedEvent("reports", leader)).asString()
			.contains("reports", "node-2", "0:1:775", "shop");
		Leadership leadership = mock(Leadership.class, "leadership in term 0:1:776");
		assertThat(new LeadershipGrantedEvent(leadership)).asString().contains("leadership in term 0:1:776");
	}

	@Test
	void metadataIsSortedByNameAndCannotBeChanged() {
		Map<String, String> metadata = new LinkedHashMap<>();
		IntStream.rangeClosed('a', 'p').forEach((name) -> metadata.put(Character.toString('a' + 'p' - name), "value"));
		Leader leader = new Leader("node", null, null, metadata, null);
		metadata.put("z", "later");
		assertThat(leader.metadata().keySet()).containsExactly("abcdefghijklmnop".split(""));
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> leader.metadata().put("a", "changed"));
	}

}
