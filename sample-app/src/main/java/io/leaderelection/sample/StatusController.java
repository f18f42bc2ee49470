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

import java.time.OffsetDateTime;
import java.util.List;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Queries, which every node serves. The page at {@code /} shows the answer.
 */
@RestController
class StatusController {

	private final LeaderElector elector;

	private final JdbcClient jdbc;

	StatusController(LeaderElector elector, JdbcClient jdbc) {
		this.elector = elector;
		this.jdbc = jdbc;
	}

	@GetMapping("/status")
	Status status() {
		Leadership leadership = this.elector.getLeadership();
		List<Work> work = this.jdbc.sql("select at, node, term from sample_work order by id desc limit 12")
			.query(Work.class)
			.list();
		return new Status(this.elector.getNodeId(), leadership != null,
				(leadership != null) ? leadership.getTerm().toString() : null, work);
	}

	record Status(String node, boolean leader, String term, List<Work> work) {
	}

	record Work(OffsetDateTime at, String node, String term) {
	}

}
