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

package io.leaderelection.kotlin

import io.leaderelection.annotation.LeaderOnly
import io.leaderelection.test.AutoConfigureTestLeadership
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.Test
import org.springframework.beans.factory.annotation.Autowired
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.boot.test.context.SpringBootTest
import org.springframework.context.annotation.Configuration
import org.springframework.context.annotation.Import
import org.springframework.test.context.ContextConfiguration
import org.junit.jupiter.api.Tag

/**
 * The example in Kotlin of a test. A test of the documents searches for it in these sources.
 */
@Tag("ring2")
@ContextConfiguration(classes = [InvoicesApplication::class])
@SpringBootTest
@AutoConfigureTestLeadership(leader = true)
class LeaderTests(@param:Autowired private val invoices: Invoices) {

	@Test
	fun sendsInvoices() {
		assertThat(invoices.send()).isEqualTo("sent")
	}

}

@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import(Invoices::class)
open class InvoicesApplication

open class Invoices {

	@LeaderOnly
	open fun send(): String? = "sent"

}
