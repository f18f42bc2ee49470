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
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration
import org.assertj.core.api.Assertions.assertThat
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.Test
import org.springframework.boot.autoconfigure.AutoConfigurations
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration
import org.springframework.boot.test.context.runner.ApplicationContextRunner
import org.springframework.context.annotation.Configuration
import org.springframework.scheduling.annotation.EnableScheduling
import org.springframework.scheduling.annotation.Scheduled
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import org.junit.jupiter.api.Tag

/**
 * The example in Kotlin of the documents. A test of the documents searches for it in these sources.
 */
@Tag("ring2")
class ReadmeExampleTests {

	@Test
	fun refreshes() {
		ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration::class.java,
					AopAutoConfiguration::class.java))
			.withPropertyValues("spring.application.name=test", "leader-election.mode=always")
			.withUserConfiguration(Scheduling::class.java)
			.withBean(Catalog::class.java)
			.withBean(Client::class.java)
			.withBean(CatalogRefresh::class.java)
			.run { context ->
				val catalog = context.getBean(Catalog::class.java)
				await().until { catalog.saved.isNotEmpty() }
				assertThat(catalog.saved).containsOnly("fetched")
			}
	}

	open class CatalogRefresh(private val catalog: Catalog, private val client: Client) {

		@LeaderOnly
		@Scheduled(fixedDelay = 30, timeUnit = TimeUnit.SECONDS)
		open suspend fun refresh() {
			catalog.save(client.fetch())
		}

	}

	class Catalog {

		val saved = CopyOnWriteArrayList<String>()

		suspend fun save(content: String) {
			this.saved.add(content)
		}

	}

	class Client {

		suspend fun fetch() = "fetched"

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	open class Scheduling

}
