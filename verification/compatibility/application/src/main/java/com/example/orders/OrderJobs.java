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

import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.FireTime;
import io.leaderelection.schedule.MisfirePolicy;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * Jobs of the leader, and one of all nodes.
 */
@Component
class OrderJobs {

	private final Journal journal;

	private final LeaderElector elector;

	OrderJobs(Journal journal, LeaderElector elector) {
		this.journal = journal;
		this.elector = elector;
	}

	@Scheduled(fixedDelay = 100, timeUnit = TimeUnit.MILLISECONDS)
	void heartbeat() {
		this.journal.add("heartbeat");
	}

	@LeaderOnly
	@Scheduled(fixedDelay = 100, timeUnit = TimeUnit.MILLISECONDS)
	void ship() {
		this.journal.add("leader-only");
	}

	@LeaderOnly
	@Transactional
	@Scheduled(fixedDelay = 100, timeUnit = TimeUnit.MILLISECONDS)
	void settle() {
		this.journal.add("fenced");
	}

	@Scheduled(fixedDelay = 100, timeUnit = TimeUnit.MILLISECONDS)
	void archive() {
		this.elector.runIfLeader(() -> this.journal.add("elector"));
	}

	@LeaderOnly
	@DurableSchedule(misfire = MisfirePolicy.RUN_ALL)
	@Scheduled(cron = "* * * * * *", zone = "UTC")
	void invoice() {
		this.journal.add(FireTime.current());
	}

}
