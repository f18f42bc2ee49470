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

package io.leaderelection.autoconfigure.actuate;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;

import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/**
 * {@link InfoContributor} for the role of this node in each election. Performs no I/O.
 */
final class LeadershipInfoContributor implements InfoContributor {

	private final DefaultLeaderElectors electors;

	/**
	 * Create a new {@code LeadershipInfoContributor} instance.
	 * @param electors the elections
	 */
	LeadershipInfoContributor(DefaultLeaderElectors electors) {
		this.electors = electors;
	}

	@Override
	public void contribute(Info.Builder builder) {
		Map<String, Object> elections = new LinkedHashMap<>();
		this.electors.all().forEach((elector) -> elections.put(elector.getElection(), details(elector.status())));
		builder.withDetail("leadership", Map.of("elections", elections));
	}

	private static Map<String, String> details(ElectionStatus status) {
		Map<String, String> details = new LinkedHashMap<>();
		details.put("role", status.role().name().toLowerCase(Locale.ROOT));
		details.put("node", status.nodeId());
		if (status.term() != null) {
			details.put("term", status.term().toString());
		}
		return details;
	}

}
