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

package com.example.shop;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.DurableSchedule;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
class CatalogRefresh {

	private final AtomicInteger runs = new AtomicInteger();

	private final AtomicInteger exports = new AtomicInteger();

	@LeaderOnly
	@Scheduled(fixedDelay = 100, timeUnit = TimeUnit.MILLISECONDS)
	void refresh() {
		this.runs.incrementAndGet();
	}

	@DurableSchedule(name = "catalog-export", cron = "* * * * * *", zone = "UTC")
	void export() {
		this.exports.incrementAndGet();
	}

	int getRuns() {
		return this.runs.get();
	}

	int getExports() {
		return this.exports.get();
	}

}
