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

import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.annotation.LeaderOnly;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/**
 * The recurring work: two jobs of the leader, and one of every node.
 */
@Component
class Schedulers {

	private static final Log logger = LogFactory.getLog(Schedulers.class);

	private final JdbcClient jdbc;

	private final LeaderElector elector;

	Schedulers(JdbcClient jdbc, LeaderElector elector) {
		this.jdbc = jdbc;
		this.elector = elector;
	}

	@LeaderOnly
	@Scheduled(fixedDelay = 2, timeUnit = TimeUnit.SECONDS)
	void refresh() {
		Leadership leadership = this.elector.getWorkLeadership();
		this.jdbc.sql("insert into sample_work (node, term) values (?, ?)")
			.params(leadership.getNodeId(), leadership.getTerm().toString())
			.update();
		logger.info("Refresh: done, as the leader");
	}

	@LeaderOnly
	@Scheduled(initialDelay = 5, fixedDelay = 10, timeUnit = TimeUnit.SECONDS)
	void retainData() {
		int removed = this.jdbc.sql("delete from sample_work where at < now() - interval '1 minute'").update();
		logger.info("Data retention: " + removed + " old entries removed, as the leader");
	}

	@Scheduled(fixedRate = 5, timeUnit = TimeUnit.SECONDS)
	void heartbeat() {
		logger.info("Heartbeat: alive, " + (this.elector.isLeader() ? "leading" : "not leading"));
	}

}
