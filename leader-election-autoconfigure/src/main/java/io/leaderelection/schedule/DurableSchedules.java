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
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

import io.leaderelection.schedule.DueFires.Misfire;
import io.leaderelection.schedule.DurableJob.Definition;
import io.leaderelection.schedule.FireTimes.Cron;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.EmbeddedValueResolverAware;
import org.springframework.core.MethodClassKey;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.task.TaskRejectedException;
import org.springframework.scheduling.SchedulingAwareRunnable;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;
import org.springframework.scheduling.support.CronExpression;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

/**
 * The durable jobs of an application. As the last {@link SchedulingConfigurer}, it learns
 * which task scheduler runs the {@code @Scheduled} methods. Internal.
 */
public final class DurableSchedules implements SchedulingConfigurer, Ordered, EmbeddedValueResolverAware {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private static final int LONGEST_NAME = 255;

	private static final Duration ON_TIME = Duration.ofMinutes(1);

	private final ScheduleStore store;

	private final Map<MethodClassKey, DurableJob> found = new ConcurrentHashMap<>();

	private final Map<JobKey, DurableJob> jobs = new LinkedHashMap<>();

	private final List<Consumer<DurableJob>> jobListeners = new CopyOnWriteArrayList<>();

	private final List<BiConsumer<DurableJob, FireTime>> fireListeners = new CopyOnWriteArrayList<>();

	private final Map<DurableJob, Submission> waiting = new LinkedHashMap<>();

	private volatile Clock clock = Clock.systemUTC();

	private volatile @Nullable Instant begin;

	private @Nullable StringValueResolver valueResolver;

	private @Nullable TaskScheduler scheduler;

	/**
	 * Create a new {@code DurableSchedules} instance.
	 * @param store where fires are recorded
	 */
	public DurableSchedules(ScheduleStore store) {
		this.store = store;
	}

	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
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

	/**
	 * Begin anew, for tests: records in memory are removed, and jobs begin at the time of
	 * a clock. While a test sets the clock, nothing is submitted to the task scheduler,
	 * so that no run but those that the test calls can claim a fire.
	 * @param clock the clock of the test, or {@code null} for that of the system
	 */
	public void begin(@Nullable Clock clock) {
		this.clock = (clock != null) ? clock : Clock.systemUTC();
		this.begin = (clock != null) ? clock.instant() : null;
		jobs().forEach(DurableJob::begin);
		this.store.clear();
	}

	/**
	 * Return when all jobs begin, if a test has set it.
	 */
	@Nullable Instant begin() {
		return this.begin;
	}

	Instant now() {
		return this.clock.instant();
	}

	ScheduleStore store() {
		return this.store;
	}

	/**
	 * Return the annotation of a method.
	 * @param method the method
	 * @return the annotation, or {@code null}
	 */
	public static @Nullable DurableSchedule annotationOf(Method method) {
		return AnnotatedElementUtils.findMergedAnnotation(method, DurableSchedule.class);
	}

	/**
	 * Check what the declaration of a method says without its placeholders.
	 * @param method the method
	 * @param description the method, for messages
	 * @param usage how the method is used
	 * @throws InvalidDurableScheduleException if it cannot be durable
	 */
	public static void check(Method method, String description, Usage usage) {
		DurableSchedule annotation = annotationOf(method);
		if (annotation != null) {
			new DurableRules(description, annotation, schedules(method)).check(method, usage);
		}
	}

	private static Set<Scheduled> schedules(Method method) {
		// As Spring does
		return AnnotatedElementUtils.getMergedRepeatableAnnotations(method, Scheduled.class, Schedules.class);
	}

	/**
	 * Return the job of a method.
	 * @param method the most specific method
	 * @param type the class of the bean
	 * @param description the method, for messages
	 * @return the job
	 */
	public DurableJob find(Method method, Class<?> type, String description) {
		DurableSchedule annotation = annotationOf(method);
		Assert.state(annotation != null, () -> description + " has no durable schedule");
		return this.found.computeIfAbsent(new MethodClassKey(method, type),
				(key) -> new DurableJob(this, method, type, description, annotation));
	}

	/**
	 * Register the job of a bean.
	 * @param job the job
	 * @param election the name of its election
	 * @throws InvalidDurableScheduleException if its placeholders cannot be resolved, or
	 * if there is another job of that name
	 */
	public void register(DurableJob job, String election) {
		JobKey key = new JobKey(election, job.name());
		synchronized (this.jobs) {
			DurableJob other = this.jobs.putIfAbsent(key, job);
			if (other != null) {
				throw new InvalidDurableScheduleException(
						"%s has the durable schedule '%s', and so has %s: each would claim the fires of the other."
							.formatted(job, job.name(),
									(other != job) ? "m" + other.toString().substring(1) : "another bean of its class"),
						"Set another name (@DurableSchedule(name = ...)), or declare only one bean.");
			}
		}
		job.register(election);
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
	 * Add a listener that is called for every run that has completed.
	 * @param listener receives the job and the fire
	 */
	public void onFire(BiConsumer<DurableJob, FireTime> listener) {
		this.fireListeners.add(listener);
	}

	void completed(DurableJob job, FireTime fireTime) {
		this.fireListeners.forEach((listener) -> listener.accept(job, fireTime));
	}

	/**
	 * Check that the fires of all jobs can be recorded. May block for as long as a pool
	 * blocks.
	 * @throws InvalidDurableScheduleException if they cannot
	 * @throws RuntimeException if this cannot be determined now
	 */
	public void check() {
		Collection<DurableJob> all = jobs();
		if (!all.isEmpty()) {
			this.store.check(all);
		}
	}

	/**
	 * Remove the runs that are pending, so that a task scheduler need not wait for them.
	 */
	public void stop() {
		jobs().forEach(DurableJob::stop);
	}

	Definition define(DurableJob job) {
		DurableSchedule annotation = job.annotation();
		String name = resolve(job, "name", annotation.name());
		if (name.isEmpty()) {
			name = job.type().getName() + "." + job.method().getName();
		}
		if (name.length() > LONGEST_NAME) {
			throw invalid(job, "the name '" + name + "', which is longer than " + LONGEST_NAME + " characters",
					"Set a shorter name.");
		}
		List<Cron> crons = new ArrayList<>();
		String schedulerName = null;
		for (Scheduled scheduled : schedules(job.method())) {
			Cron cron = cron(job, scheduled);
			if (cron != null) {
				crons.add(cron);
			}
			schedulerName = StringUtils.hasText(scheduled.scheduler()) ? scheduled.scheduler() : schedulerName;
		}
		return new Definition(name, new FireTimes(crons),
				new Misfire(annotation.misfire(), within(job, annotation), annotation.limit()),
				(schedulerName != null) ? resolve(job, "scheduler", schedulerName) : null);
	}

	private @Nullable Cron cron(DurableJob job, Scheduled scheduled) {
		String expression = resolve(job, "cron", scheduled.cron());
		if (expression.equals(Scheduled.CRON_DISABLED)) {
			return null;
		}
		String zone = resolve(job, "zone", scheduled.zone());
		try {
			return new Cron(CronExpression.parse(expression), StringUtils.hasText(zone)
					? StringUtils.parseTimeZoneString(zone).toZoneId() : ZoneId.systemDefault());
		}
		catch (IllegalArgumentException | DateTimeException ex) {
			throw invalid(job, "a cron expression that is not valid: " + ex.getMessage(),
					"Correct the attribute 'cron' or 'zone' of @Scheduled.");
		}
	}

	private @Nullable Duration within(DurableJob job, DurableSchedule annotation) {
		String within = resolve(job, "within", annotation.within());
		if (within.isEmpty()) {
			return (annotation.misfire() == MisfirePolicy.SKIP) ? ON_TIME : null;
		}
		try {
			Duration duration = DurationStyle.detectAndParse(within);
			if (!duration.isZero() && !duration.isNegative()) {
				return duration;
			}
		}
		catch (IllegalArgumentException ex) {
			logger.debug("Not a duration: " + within, ex);
		}
		throw invalid(job, "within = \"" + within + "\", which is not a positive duration",
				"Set a duration, for instance PT6H or 6h.");
	}

	private String resolve(DurableJob job, String attribute, String value) {
		try {
			String resolved = (this.valueResolver != null) ? this.valueResolver.resolveStringValue(value) : value;
			return (resolved != null) ? resolved.trim() : "";
		}
		catch (RuntimeException ex) {
			throw invalid(job, attribute + " = \"" + value + "\", which cannot be resolved: " + ex.getMessage(),
					"Set the property that the placeholder names, or give the placeholder a default.");
		}
	}

	private static InvalidDurableScheduleException invalid(DurableJob job, String reason, String action) {
		return new InvalidDurableScheduleException(job + " has a durable schedule with " + reason + ".", action);
	}

	@Override
	public void configureTasks(ScheduledTaskRegistrar registrar) {
		synchronized (this.waiting) {
			this.scheduler = registrar.getScheduler();
			this.waiting.forEach((job, submission) -> submit(submission, now()));
			this.waiting.clear();
		}
	}

	/**
	 * Submit a run to the task scheduler that runs the {@code @Scheduled} methods. Until
	 * it is known, since the application has not started completely, the last run of each
	 * job waits for it.
	 * @param time the time by the clock of the jobs
	 * @return the run, or {@code null} if it waits, was rejected or would disturb a test
	 */
	@Nullable ScheduledFuture<?> submit(DurableJob job, Runnable run, Instant time) {
		if (this.begin != null) {
			return null;
		}
		Submission submission = new Submission(job, run, job.scheduler());
		synchronized (this.waiting) {
			if (this.scheduler == null) {
				this.waiting.put(job, submission);
				return null;
			}
		}
		return submit(submission, time);
	}

	private @Nullable ScheduledFuture<?> submit(Submission submission, Instant time) {
		TaskScheduler target = this.scheduler;
		if (target == null) {
			return null;
		}
		Duration delay = Duration.between(now(), time);
		try {
			return target.schedule(submission,
					target.getClock().instant().plus(delay.isNegative() ? Duration.ZERO : delay));
		}
		catch (TaskRejectedException ex) {
			logger.debug(submission.job() + " could not be submitted", ex);
			return null;
		}
	}

	/**
	 * How a method with {@link DurableSchedule @DurableSchedule} is used.
	 *
	 * @param guarded whether it is guarded by {@code @LeaderOnly}
	 * @param deferred whether its work continues after it has returned
	 * @param skippable whether a skipped call has a result
	 * @param runOnGrant whether it also runs on every grant
	 * @param parameters the number of its parameters
	 */
	public record Usage(boolean guarded, boolean deferred, boolean skippable, boolean runOnGrant, int parameters) {

	}

	/**
	 * Identifies a job.
	 *
	 * @param election the name of its election
	 * @param name its name
	 */
	private record JobKey(String election, String name) {

	}

	/**
	 * A run of a job, for the scheduler that {@code @Scheduled} names.
	 *
	 * @param job the job
	 * @param task the run
	 * @param qualifier the name of the scheduler
	 */
	private record Submission(DurableJob job, Runnable task,
			@Nullable String qualifier) implements SchedulingAwareRunnable {

		@Override
		public void run() {
			this.task.run();
		}

		@Override
		public @Nullable String getQualifier() {
			return this.qualifier;
		}

	}

}
