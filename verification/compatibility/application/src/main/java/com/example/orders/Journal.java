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

package com.example.orders;

import java.time.ZoneOffset;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.schedule.FireTime;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

/**
 * What the nodes have done, in the database.
 */
@Repository
class Journal {

	private final JdbcClient jdbc;

	private final LeaderElector elector;

	Journal(JdbcClient jdbc, LeaderElector elector) {
		this.jdbc = jdbc;
		this.elector = elector;
	}

	void add(String work) {
		Leadership leadership = this.elector.getWorkLeadership();
		this.jdbc.sql("INSERT INTO journal (node, work, thread, term) VALUES (?, ?, ?, ?)")
			.params(this.elector.getNodeId(), work, Thread.currentThread().toString())
			.param((leadership != null) ? leadership.getTerm().toLong() : null)
			.update();
	}

	void add(FireTime fire) {
		this.jdbc.sql("INSERT INTO fires (fire, node) VALUES (?, ?)")
			.params(fire.getNominalTime().atOffset(ZoneOffset.UTC), this.elector.getNodeId())
			.update();
	}

}
