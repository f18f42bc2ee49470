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

package io.leaderelection.autoconfigure;

import javax.sql.DataSource;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.annotation.LeaderServiceBeanPostProcessor;
import io.leaderelection.annotation.WorkAdvisor;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Fencing;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.autoconfigure.listener.LeaderOnlyListenerRegistrar;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.LogContext;
import io.leaderelection.lifecycle.LeaderServices;
import io.leaderelection.lifecycle.LeadershipSequence;
import io.leaderelection.observation.MdcLogContext;
import io.leaderelection.spread.ElectionSpread;
import io.leaderelection.transaction.TransactionFencing;
import org.postgresql.PGConnection;
import org.slf4j.MDC;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.NativeDetector;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;
import org.springframework.core.metrics.ApplicationStartup;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.transaction.TransactionManager;
import org.springframework.util.ClassUtils;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for leader election. Never backs
 * off: without the guard, work that is annotated with
 * {@link io.leaderelection.annotation.LeaderOnly @LeaderOnly} would run on every node, so
 * an application that cannot hold elections does not start.
 */
@AutoConfiguration(afterName = "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration")
@EnableConfigurationProperties(LeaderElectionProperties.class)
@Import({ LeaderElectorRegistrar.class, LeaderOnlyListenerRegistrar.class })
public final class LeaderElectionAutoConfiguration {

	static final String ELECTORS_BEAN_NAME = "leaderElectors";

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static LeaderOnlyBeanPostProcessor leaderOnlyBeanPostProcessor(ObjectProvider<DefaultLeaderElectors> electors,
			ObjectProvider<WorkAdvisor> advisors) {
		return new LeaderOnlyBeanPostProcessor(electors, advisors);
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static LeaderServices leaderServices() {
		return new LeaderServices();
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static LeaderServiceBeanPostProcessor leaderServiceBeanPostProcessor(ObjectProvider<LeaderServices> services,
			ObjectProvider<DefaultLeaderElectors> electors) {
		return new LeaderServiceBeanPostProcessor(services, electors);
	}

	@Bean
	ElectionDefinitions electionDefinitions(LeaderElectionProperties properties, ConfigurableEnvironment environment) {
		// A native image does not have the components of records
		if (!NativeDetector.inNativeImage()) {
			environment.getPropertySources().forEach(UnknownProperties::check);
		}
		return ElectionDefinitions.of(properties, environment);
	}

	@Bean
	@ConditionalOnMissingBean
	ElectionStoreFactory localElectionStoreFactory(LeaderElectionProperties properties, ElectionDefinitions definitions,
			ApplicationContext context, ObjectProvider<LocalStore> manual) {
		if (properties.mode() == Mode.POSTGRESQL) {
			boolean driver = ClassUtils.isPresent("org.postgresql.PGConnection", context.getClassLoader());
			throw new InvalidUsageException(
					"Leader election needs a PostgreSQL database, but there is no "
							+ (driver ? "Spring Boot JDBC support" : "PostgreSQL JDBC driver") + " on the class path.",
					"Add the dependency "
							+ (driver ? "org.springframework.boot:spring-boot-starter-jdbc"
									: "org.postgresql:postgresql")
							+ ". To run without elections, for instance in tests, set leader-election.mode=always.");
		}
		return new LocalElectionStoreFactory(definitions, manual, null);
	}

	@Bean
	LeadershipSequence leadershipSequence(ApplicationContext context, LeaderOnlyBeanPostProcessor guard,
			LeaderServices services, LeaderElectionProperties properties) {
		return new LeadershipSequence(context, (elector, event) -> guard.granted(event.getLeadership()),
				services.participant(properties.services().startAttempts(), properties.services().startTimeout()),
				(elector, event) -> guard.runOnGrant(event.getLeadership()));
	}

	@Bean(name = ELECTORS_BEAN_NAME)
	DefaultLeaderElectors leaderElectors(ElectionDefinitions definitions, ElectionStoreFactory storeFactory,
			LeadershipSequence sequence, ObjectProvider<ElectionTimings> timings,
			ObjectProvider<LogContext> logContext) {
		return new DefaultLeaderElectors(definitions.all().stream().map(storeFactory::settings).toList(),
				timings.getIfAvailable(() -> ElectionTimings.DEFAULTS),
				logContext.getIfAvailable(() -> LogContext.NONE),
				(settings) -> storeFactory.create(definitions.get(settings.election())), sequence::publish);
	}

	/** Tables are read by its start, also if all other beans are lazy. */
	@Bean
	@DependsOnDatabaseInitialization
	LeaderElectionLifecycle leaderElectionLifecycle(DefaultLeaderElectors electors, ElectionDefinitions definitions,
			ElectionStoreFactory storeFactory, LeaderServices services, LeaderElectionProperties properties,
			ApplicationContext context, ApplicationStartup applicationStartup) {
		return new LeaderElectionLifecycle(electors, definitions, storeFactory, services, properties.failFast(),
				context, applicationStartup);
	}

	/** Compares elections also if all other beans are lazy. */
	@Bean(initMethod = "start", destroyMethod = "stop")
	@Lazy(false)
	ElectionSpread electionSpread(DefaultLeaderElectors electors, ElectionDefinitions definitions,
			LeaderElectionProperties properties) {
		ElectionSettings settings = definitions.all().get(0).settings();
		return new ElectionSpread(electors,
				new ElectionSpread.Settings(settings.nodeId(), settings.profile().capacity(), properties.spreadHold(),
						properties.priorityHold(), definitions.longestDrain()));
	}

	/** Key-value pairs of log messages if SLF4J is on the class path. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MDC.class)
	static class LoggingConfiguration {

		@Bean
		MdcLogContext electionLogContext(LeaderElectionProperties properties, Environment environment) {
			return new MdcLogContext(properties.group(environment));
		}

	}

	/** Elections if PostgreSQL is on the class path. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ DataSourceBuilder.class, PGConnection.class, SimpleDriverDataSource.class })
	static class PostgreSqlConfiguration {

		@Bean
		@ConditionalOnMissingBean(LeaderElectionConnectionDetails.class)
		PropertiesLeaderElectionConnectionDetails leaderElectionConnectionDetails(LeaderElectionProperties properties) {
			return new PropertiesLeaderElectionConnectionDetails(properties.datasource());
		}

		@Bean
		ElectionStoreFactory electionStoreFactory(LeaderElectionProperties properties, ElectionDefinitions definitions,
				@LeaderElectionDataSource ObjectProvider<DataSource> dedicated, ObjectProvider<DataSource> dataSources,
				ObjectProvider<LeaderElectionConnectionDetails> details, Environment environment,
				ObjectProvider<LocalStore> manual) {
			if (properties.mode() != Mode.POSTGRESQL) {
				return new LocalElectionStoreFactory(definitions, manual,
						environment.getProperty("spring.datasource.url"));
			}
			return new PostgreSqlElectionStoreFactory(properties, definitions,
					new ElectionConnectionSource(dedicated, dataSources, details.getObject()),
					properties.group(environment), () -> NodeId.hostName(environment));
		}

	}

	/** Fences transactions if Spring's transaction support is present. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ DataSourceBuilder.class, PGConnection.class, SimpleDriverDataSource.class,
			TransactionManager.class })
	static class TransactionFencingConfiguration {

		@Bean
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		static TransactionFencing transactionFencing(ObjectProvider<LeaderElectionProperties> properties,
				ObjectProvider<DefaultLeaderElectors> electors, ConfigurableListableBeanFactory beanFactory) {
			return new TransactionFencing(() -> settings(properties.getObject()), electors::getObject, beanFactory);
		}

		private static TransactionFencing.Settings settings(LeaderElectionProperties properties) {
			return new TransactionFencing.Settings(
					properties.mode() == Mode.POSTGRESQL && properties.fencing() != Fencing.OFF,
					properties.fencing() == Fencing.REQUIRED);
		}

		/**
		 * Depends on the lifecycle of the elections, so that it is started after it.
		 */
		@Bean
		@DependsOn("leaderElectionLifecycle")
		TransactionFencingLifecycle transactionFencingLifecycle(TransactionFencing fencing) {
			return new TransactionFencingLifecycle(fencing);
		}

	}

}
