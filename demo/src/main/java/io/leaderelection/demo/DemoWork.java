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

package io.leaderelection.demo;

import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.FireTime;
import io.leaderelection.schedule.MisfirePolicy;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.Assert;

/**
 * Work at a visible pace: a job of the leader that writes a row with every tick, a job of
 * all nodes, and two jobs of the leader for every second. Their metrics are those that
 * Spring and the election keep. No component, or the sample would find it.
 */
class DemoWork {

	static final int LEADER_PERIOD = 200;

	static final int ALL_PERIOD = 500;

	static final String DURABLE = "durable";

	static final String PLAIN = "plain";

	private static final String EVERY_SECOND = "* * * * * *";

	private final JdbcClient jdbc;

	private final LeaderElector elector;

	DemoWork(JdbcClient jdbc, LeaderElector elector) {
		this.jdbc = jdbc;
		this.elector = elector;
	}

	@LeaderOnly
	@Transactional
	@Scheduled(fixedRate = LEADER_PERIOD)
	void tick() {
		Leadership leadership = this.elector.getWorkLeadership();
		Assert.state(leadership != null, "Only leader work ticks");
		// The next number without any lock: two leaders would take the same one
		this.jdbc
			.sql("insert into demo_tick (token, term, node, tick) "
					+ "select ?, ?, ?, coalesce(max(tick), 0) + 1 from demo_tick")
			.params(leadership.getTerm().toLong(), leadership.getTerm().toString(), leadership.getNodeId())
			.update();
	}

	/**
	 * How many runs are missing in a time in which the leader should have worked.
	 */
	static long missed(Duration gap) {
		return Math.max(0, Math.round((double) gap.toMillis() / LEADER_PERIOD) - 1);
	}

	@Scheduled(fixedRate = ALL_PERIOD)
	void everywhere() {
		// Only its runs are counted
	}

	@LeaderOnly
	@DurableSchedule(name = "every-second", misfire = MisfirePolicy.RUN_ALL, limit = 3600)
	@Scheduled(cron = EVERY_SECOND)
	void everySecond() {
		fired(DURABLE, FireTime.current().getNominalTime());
	}

	@LeaderOnly
	@Transactional
	@Scheduled(cron = EVERY_SECOND)
	void everySecondWithoutRecord() {
		fired(PLAIN, Instant.now().truncatedTo(ChronoUnit.SECONDS));
	}

	private void fired(String job, Instant nominal) {
		this.jdbc.sql("insert into demo_fire (job, nominal) values (?, ?)")
			.params(job, Timestamp.from(nominal))
			.update();
	}

}
