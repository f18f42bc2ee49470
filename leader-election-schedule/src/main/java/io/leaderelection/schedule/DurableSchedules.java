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

package io.leaderelection.schedule;

import java.lang.reflect.Method;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.WorkAdvisor;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.EmbeddedValueResolverAware;
import org.springframework.core.MethodClassKey;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;
import org.springframework.util.Assert;
import org.springframework.util.StringValueResolver;

/**
 * The durable jobs of an application. As the last {@link SchedulingConfigurer}, it learns
 * which task scheduler runs the {@code @Scheduled} methods. Internal.
 */
public final class DurableSchedules implements SchedulingConfigurer, EmbeddedValueResolverAware {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private final @Nullable ScheduleStore store;

	private final @Nullable Duration within;

	private final Map<MethodClassKey, DurableJob> found = new ConcurrentHashMap<>();

	/** By the names of the election and of the job. */
	private final Map<List<String>, DurableJob> jobs = new LinkedHashMap<>();

	private final List<Consumer<DurableJob>> jobListeners = new CopyOnWriteArrayList<>();

	private final List<Consumer<FireEndedEvent>> fireListeners = new CopyOnWriteArrayList<>();

	private volatile Clock clock = Clock.systemUTC();

	private volatile @Nullable Instant begin;

	private volatile @Nullable TaskScheduler scheduler;

	private @Nullable StringValueResolver valueResolver;

	/**
	 * Create a new {@code DurableSchedules} instance.
	 * @param store where fires are recorded, or {@code null} if they cannot be
	 * @param within the age up to which a fire is run if its job does not define it, or
	 * {@code null} if it is unlimited
	 */
	public DurableSchedules(@Nullable ScheduleStore store, @Nullable Duration within) {
		this.store = store;
		this.within = within;
	}

	/**
	 * Return what has annotated methods claim their fires.
	 * @param schedules provides the durable schedules; not called before all singletons
	 * have been created
	 * @return the advisor
	 */
	public static WorkAdvisor advisor(ObjectProvider<DurableSchedules> schedules) {
		return new DurableScheduleAdvisor(schedules);
	}

	@Override
	public void setEmbeddedValueResolver(StringValueResolver resolver) {
		this.valueResolver = resolver;
	}

	/**
	 * Set the clock that determines which fires are due. It does not change when the task
	 * scheduler ticks.
	 * @param clock the clock
	 */
	public void setClock(Clock clock) {
		this.clock = clock;
	}

	@Nullable Duration within() {
		return this.within;
	}

	/**
	 * Begin anew, for tests: records in memory are removed, and jobs begin at the time of
	 * a clock. While a test sets the clock, nothing is submitted to the task scheduler,
	 * so that no run but those that the test calls can claim a fire.
	 * @param clock the clock of the test, or {@code null} for that of the system
	 */
	public void begin(@Nullable Clock clock) {
		this.clock = (clock != null) ? clock : Clock.systemUTC();
		this.begin = (clock != null) ? now() : null;
		jobs().forEach(DurableJob::begin);
		if (this.store != null) {
			this.store.clear();
		}
	}

	/**
	 * Return when all jobs begin, if a test has set it.
	 */
	@Nullable Instant begin() {
		return this.begin;
	}

	/**
	 * Return the current time, as the database records it.
	 */
	Instant now() {
		return this.clock.instant().truncatedTo(ChronoUnit.MILLIS);
	}

	ScheduleStore store() {
		Assert.state(this.store != null, "Fires cannot be recorded");
		return this.store;
	}

	/**
	 * Return the job of a method.
	 * @param method the most specific method
	 * @param type the class of the bean
	 * @param description the method, for messages
	 * @return the job
	 */
	DurableJob find(Method method, Class<?> type, String description) {
		DurableSchedule annotation = DurableScheduleAdvisor.annotationOf(method, description);
		return this.found.computeIfAbsent(new MethodClassKey(method, type),
				(key) -> new DurableJob(this, method, type, description, annotation));
	}

	/**
	 * Register the job of a bean.
	 * @param job the job
	 * @param election the name of its election
	 * @throws InvalidUsageException if its placeholders cannot be resolved, if there is
	 * another job of that name, or if fires cannot be recorded
	 */
	void register(DurableJob job, String election) {
		if (this.store == null) {
			throw new InvalidUsageException(job
					+ " has a durable schedule, but Spring's support for JDBC transactions is missing, in which fires are claimed.",
					"Add the dependency org.springframework.boot:spring-boot-starter-jdbc.");
		}
		synchronized (this.jobs) {
			DurableJob other = this.jobs.putIfAbsent(List.of(election, job.name()), job);
			if (other != null) {
				throw new InvalidUsageException(
						"%s has the durable schedule '%s', and so has %s: each would claim the fires of the other."
							.formatted(job, job.name(),
									(other != job) ? "m" + other.toString().substring(1) : "another bean of its class"),
						"Set another name (@DurableSchedule(name = ...)), or declare only one bean.");
			}
		}
		job.registered(election);
		this.jobListeners.forEach((listener) -> listener.accept(job));
	}

	/**
	 * Return the jobs.
	 * @return all jobs of this application
	 */
	public Collection<DurableJob> jobs() {
		synchronized (this.jobs) {
			return List.copyOf(this.jobs.values());
		}
	}

	/**
	 * Add a listener that is called for every job, those that exist included.
	 * @param listener the listener
	 */
	public void onJob(Consumer<DurableJob> listener) {
		this.jobListeners.add(listener);
		jobs().forEach(listener);
	}

	/**
	 * Add a listener that is called for every run that has ended.
	 * @param listener receives the outcome
	 */
	public void onFire(Consumer<FireEndedEvent> listener) {
		this.fireListeners.add(listener);
	}

	void ended(DurableJob job, ClaimedRun run, @Nullable Throwable failure) {
		FireEndedEvent event = new FireEndedEvent(job.election(), job.name(), run.fireTime(), failure);
		for (Consumer<FireEndedEvent> listener : this.fireListeners) {
			try {
				listener.accept(event);
			}
			catch (Throwable ex) {
				logger.warn("A listener failed for the " + event, ex);
			}
		}
	}

	/**
	 * Check that the fires of all jobs can be recorded. May block for as long as a pool
	 * blocks.
	 * @throws InvalidUsageException if they cannot
	 * @throws RuntimeException if this cannot be determined now
	 */
	public void check() {
		Collection<DurableJob> all = jobs();
		if (!all.isEmpty()) {
			store().check(all);
		}
	}

	/**
	 * Remove the runs that are pending, so that a task scheduler need not wait for them.
	 */
	public void stop() {
		jobs().forEach(DurableJob::stop);
	}

	@Nullable String resolve(String value) {
		return (this.valueResolver != null) ? this.valueResolver.resolveStringValue(value) : value;
	}

	@Override
	public void configureTasks(ScheduledTaskRegistrar registrar) {
		this.scheduler = registrar.getScheduler();
		jobs().forEach(DurableJob::submit);
	}

	/**
	 * Return the task scheduler that runs the {@code @Scheduled} methods.
	 * @return the scheduler, or {@code null} if it is not known yet or would disturb a
	 * test
	 */
	@Nullable TaskScheduler scheduler() {
		return (this.begin == null) ? this.scheduler : null;
	}

}
