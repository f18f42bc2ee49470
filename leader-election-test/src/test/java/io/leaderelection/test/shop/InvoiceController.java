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

import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * A controller with a handler method that is for the leader only.
 */
@RestController
class InvoiceController {

	private final InvoiceService invoices;

	InvoiceController(InvoiceService invoices) {
		this.invoices = invoices;
	}

	@LeaderOnly(policy = NotLeaderPolicy.REJECT)
	@PostMapping("/invoices")
	String send() {
		return this.invoices.send();
	}

	@ExceptionHandler(NotLeaderException.class)
	@ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
	void notLeader() {
	}

}
