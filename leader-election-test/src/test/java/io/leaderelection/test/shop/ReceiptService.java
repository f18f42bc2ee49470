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

package io.leaderelection.test.shop;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.DurableSchedule;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Service;

/**
 * A service that stores its work with Spring Data JDBC.
 */
@Service
class ReceiptService {

	private final ReceiptRepository receipts;

	ReceiptService(ReceiptRepository receipts) {
		this.receipts = receipts;
	}

	@LeaderOnly
	void print(String text) {
		this.receipts.save(new Receipt(null, text));
	}

	@LeaderOnly
	@DurableSchedule(name = "receipts", claim = Claim.IN_TRANSACTION)
	@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
	void printNightly() {
		this.receipts.save(new Receipt(null, "nightly"));
	}

}
