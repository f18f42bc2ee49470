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

import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.faults.Contender.Win;
import io.leaderelection.faults.RandomEnds.End;
import io.leaderelection.faults.RandomEnds.Kind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link RandomEnds}, with invented ends.
 */
@Tag("ring1")
class RandomEndsTests {

	private static final long DELAY = Contender.TAKEOVER_DELAY.toNanos();

	@ParameterizedTest
	@EnumSource
	void lastEnd(Kind kind) {
		boolean byServer = kind.name().startsWith("TERMINATED") || kind.name().startsWith("IDLE");
		assertThat(mistakes(kind, Ending.ABANDONED)).hasSize(byServer ? 1 : 0);
		assertThat(mistakes(kind, Ending.CLEAN)).hasSize((kind != Kind.RELEASED) ? 1 : 0);
		assertThat(mistakes(kind, Ending.UNKNOWN)).isEmpty();
	}

	private static List<String> mistakes(Kind last, Ending ending) {
		return RandomEnds.mistakes(List.of(end(Kind.RELEASED, 0), end(last, DELAY)), win(ending, 3 * DELAY));
	}

	@Test
	void endByTheServerShortlyBeforeAnotherEnd() {
		List<End> ends = List.of(end(Kind.TERMINATED, 0), end(Kind.CLOSED, DELAY / 2));
		assertThat(RandomEnds.mistakes(ends, win(Ending.ABANDONED, DELAY - 1))).hasSize(1);
		assertThat(RandomEnds.mistakes(ends, win(Ending.ABANDONED, DELAY))).isEmpty();
	}

	private static End end(Kind kind, long start) {
		return new End("node-1", new Term(0, 1, 1), kind, false, start);
	}

	private static Win win(Ending ending, long reply) {
		return new Win("node-2", new Term(0, 1, 2), ending, null, reply);
	}

}
