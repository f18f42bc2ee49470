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

import java.time.Instant;
import java.util.List;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The query side, served by every node. The page at {@code /} shows it.
 */
@RestController
class StatusController {

	private final LeaderElector elector;

	private final WorkLog workLog;

	private final String store;

	StatusController(LeaderElector elector, WorkLog workLog,
			@Value("${leader-election.store:advisory-lock}") String store) {
		this.elector = elector;
		this.workLog = workLog;
		this.store = store;
	}

	@GetMapping("/status")
	Status status() {
		Leadership leadership = this.elector.getLeadership();
		return new Status(this.elector.getNodeId(), this.store, leadership != null,
				(leadership != null) ? leadership.getTerm().toString() : null,
				(leadership != null) ? leadership.getSince() : null, this.workLog.latest());
	}

	/**
	 * The status of this node.
	 *
	 * @param node the id of this node
	 * @param store the store that holds the election
	 * @param leader whether this node leads
	 * @param term the term in which it leads
	 * @param since since when it leads
	 * @param work what the leaders of the cluster did last
	 */
	record Status(String node, String store, boolean leader, @Nullable String term, @Nullable Instant since,
			List<WorkLog.Entry> work) {
	}

}
