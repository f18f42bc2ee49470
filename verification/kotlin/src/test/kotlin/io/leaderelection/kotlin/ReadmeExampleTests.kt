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

import io.leaderelection.LeaderElector
import io.leaderelection.LeadershipRevokedEvent
import io.leaderelection.NotLeaderException
import io.leaderelection.annotation.LeaderOnly
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatExceptionOfType
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.Test
import org.springframework.boot.autoconfigure.AutoConfigurations
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration
import org.springframework.boot.test.context.runner.ApplicationContextRunner
import org.springframework.context.annotation.Configuration
import org.springframework.context.event.EventListener
import org.springframework.scheduling.annotation.EnableScheduling
import org.springframework.scheduling.annotation.Scheduled
import org.springframework.transaction.TransactionDefinition
import org.springframework.transaction.annotation.EnableTransactionManagement
import org.springframework.transaction.annotation.Transactional
import org.springframework.transaction.support.AbstractPlatformTransactionManager
import org.springframework.transaction.support.DefaultTransactionStatus
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import java.util.function.Supplier
import org.junit.jupiter.api.Tag

/**
 * The examples in Kotlin of the documents. A test of the documents searches for them in these sources.
 */
@Tag("ring2")
class ReadmeExampleTests {

	@Test
	fun refreshes() {
		runner().withBean(Client::class.java)
			.withBean(CatalogRefresh::class.java)
			.run { context ->
				val catalog = context.getBean(Catalog::class.java)
				await().until { catalog.saved.isNotEmpty() }
				assertThat(catalog.saved).containsOnly("fetched")
			}
	}

	@Test
	fun isRejectedOnAFollower() {
		val runner = runner().withBean(CatalogSize::class.java)
		runner.run { context -> assertThat(context.getBean(CatalogSize::class.java).size()).isEqualTo(0) }
		runner.withPropertyValues("leader-election.candidate=false")
			.run { context ->
				val size = context.getBean(CatalogSize::class.java)
				assertThatExceptionOfType(NotLeaderException::class.java).isThrownBy { size.size() }
			}
	}

	@Test
	fun rebuildsInATransaction() {
		runner().withBean(Transactions::class.java)
			.withBean(CatalogRebuild::class.java)
			.run { context ->
				context.getBean(CatalogRebuild::class.java).rebuild()
				assertThat(context.getBean(Catalog::class.java).saved).containsExactly("rebuilt")
				assertThat(context.getBean(Transactions::class.java).commits).hasValue(1)
			}
	}

	@Test
	fun loadsIfLeader() {
		runner().withBean(CatalogLoader::class.java)
			.run { context ->
				assertThat(context.getBean(CatalogLoader::class.java).loadIfLeader()).isTrue()
				assertThat(context.getBean(Catalog::class.java).saved).containsExactly("loaded")
			}
	}

	@Test
	fun closesWhenLeadershipIsRevoked() {
		val catalog = Catalog()
		runner(catalog).withBean(CatalogListener::class.java).run { assertThat(catalog.saved).isEmpty() }
		assertThat(catalog.saved).containsExactly("closed STOPPED")
	}

	private fun runner(catalog: Catalog = Catalog()) = ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration::class.java,
				AopAutoConfiguration::class.java))
		.withPropertyValues("spring.application.name=test", "leader-election.mode=always")
		.withUserConfiguration(Scheduling::class.java)
		.withBean(Catalog::class.java, Supplier { catalog })

	open class CatalogRefresh(private val catalog: Catalog, private val client: Client) {

		@LeaderOnly
		@Scheduled(fixedDelay = 30, timeUnit = TimeUnit.SECONDS)
		open suspend fun refresh() {
			catalog.save(client.fetch())
		}

	}

	open class CatalogSize(private val catalog: Catalog) {

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		open fun size() = catalog.size()

	}

	open class CatalogRebuild(private val catalog: Catalog) {

		@LeaderOnly
		@Transactional
		open fun rebuild() {
			catalog.rebuild()
		}

	}

	class CatalogLoader(private val elector: LeaderElector, private val catalog: Catalog) {

		fun loadIfLeader(): Boolean {
			val leads = elector.isLeader
			val ran = elector.runIfLeader { load() }
			return leads && ran
		}

		private fun load() {
			catalog.saved.add("loaded")
		}

	}

	class CatalogListener(private val catalog: Catalog) {

		@EventListener
		fun on(event: LeadershipRevokedEvent) {
			catalog.close(event.reason)
		}

	}

	class Catalog {

		val saved = CopyOnWriteArrayList<String>()

		suspend fun save(content: String) {
			this.saved.add(content)
		}

		fun size() = this.saved.size

		fun rebuild() {
			this.saved.add("rebuilt")
		}

		fun close(reason: LeadershipRevokedEvent.Reason) {
			this.saved.add("closed $reason")
		}

	}

	class Client {

		suspend fun fetch() = "fetched"

	}

	class Transactions : AbstractPlatformTransactionManager() {

		val commits = AtomicInteger()

		override fun doGetTransaction() = Any()

		override fun doBegin(transaction: Any, definition: TransactionDefinition) = Unit

		override fun doCommit(status: DefaultTransactionStatus) {
			this.commits.incrementAndGet()
		}

		override fun doRollback(status: DefaultTransactionStatus) = Unit

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	@EnableTransactionManagement
	open class Scheduling

}
