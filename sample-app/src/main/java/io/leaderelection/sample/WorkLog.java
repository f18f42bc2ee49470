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

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.util.Assert;

/**
 * What the leaders did, in a table that all nodes read.
 */
@Component
class WorkLog {

	private final JdbcClient jdbc;

	private final LeaderElector elector;

	WorkLog(JdbcClient jdbc, LeaderElector elector) {
		this.jdbc = jdbc;
		this.elector = elector;
	}

	void add(String what) {
		Leadership leadership = this.elector.getWorkLeadership();
		Assert.state(leadership != null, "Only leader work is logged");
		this.jdbc.sql("insert into sample_work (node, term, what) values (?, ?, ?)")
			.params(leadership.getNodeId(), leadership.getTerm().toString(), what)
			.update();
	}

	int removeOld() {
		return this.jdbc.sql("delete from sample_work where at < clock_timestamp() - interval '1 minute'").update();
	}

	List<Entry> latest() {
		return this.jdbc.sql("select at, node, term, what from sample_work order by id desc limit 12")
			.query((row, number) -> new Entry(row.getTimestamp("at").toInstant(), row.getString("node"),
					row.getString("term"), row.getString("what")))
			.list();
	}

	/**
	 * One piece of leader work.
	 *
	 * @param at when it was done
	 * @param node the node that led
	 * @param term the term in which it led
	 * @param what what was done
	 */
	record Entry(Instant at, String node, String term, String what) {
	}

}
