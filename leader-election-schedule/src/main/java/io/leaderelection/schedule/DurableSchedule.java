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

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.WorkAdvisor.AdvisedBy;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * Runs a method on the leader for the fires of its {@link #cron() cron expression}, also
 * for fires at which no node led, which run later by the {@link #misfire() misfire
 * policy}. Further {@link Scheduled @Scheduled} annotations with cron expressions add
 * fires, and {@link LeaderOnly @LeaderOnly} may be added to the method or its class. May
 * be used as a meta-annotation.
 * <p>
 * The election database records the last fire of each job by its nominal time, the time
 * that the cron expression yields. A call of the method claims the fires between that
 * time and the current time according to the {@link #misfire() misfire policy}, and is
 * skipped if none is due. Since nominal times are claimed, a fire that has been claimed
 * does not run again if the clocks of nodes differ. This applies to every call through
 * the proxy of the bean, not only to those of the scheduler. A skipped call returns an
 * empty result, as on a follower.
 * <p>
 * Whenever this node is granted leadership, each job is submitted to the task scheduler
 * of the application, so that a fire that was missed runs as soon as a node leads, and
 * after each run for the next fire. A job that is new, or whose expression or time zone
 * has changed, begins at the grant: no earlier fire is due.
 * <p>
 * Two calls on one node never run at the same time in one term. A call while another one
 * runs is skipped, and the method is called again after that run if a fire is due then. A
 * {@link FireEndedEvent} is published for the outcome of each run.
 * <p>
 * If a job cannot be durable as declared, the application does not start, and an
 * {@link InvalidUsageException} describes the required change.
 *
 * @since 0.1.0
 * @see FireTime
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
@Scheduled
@LeaderOnly
@AdvisedBy(value = DurableScheduleAdvisor.class, description = "durable schedule")
public @interface DurableSchedule {

	/**
	 * The name of the job, unique in its election. The record of the job is found by this
	 * name: set it before the class or method is renamed. By default, the name of the
	 * class and the method. Placeholders are resolved.
	 * @return the name of the job
	 */
	String name() default "";

	/**
	 * The cron expression. Placeholders are resolved; {@code "-"} disables it.
	 * @return the cron expression
	 */
	@AliasFor(annotation = Scheduled.class, attribute = "cron")
	String cron() default Scheduled.CRON_DISABLED;

	/**
	 * The time zone of the cron expression, by default that of the JVM.
	 * @return the time zone
	 */
	@AliasFor(annotation = Scheduled.class, attribute = "zone")
	String zone() default "";

	/**
	 * The name of the task scheduler, as in {@link Scheduled#scheduler()}.
	 * @return the name
	 */
	@AliasFor(annotation = Scheduled.class, attribute = "scheduler")
	String scheduler() default "";

	/**
	 * The name of the election. By default, that of {@link LeaderOnly @LeaderOnly}.
	 * @return the name of the election
	 */
	@AliasFor(annotation = LeaderOnly.class, attribute = "election")
	String election() default "";

	/**
	 * What happens if several fires are due.
	 * @return the policy
	 */
	MisfirePolicy misfire() default MisfirePolicy.RUN_ONCE;

	/**
	 * The age up to which a fire is run, for instance {@code PT6H} or {@code 6h}. Older
	 * fires are dropped. By default {@code leader-election.schedules.within}, which is
	 * unlimited unless set, or one minute with {@link MisfirePolicy#ON_TIME}.
	 * Placeholders are resolved.
	 * @return the greatest age of a fire
	 */
	String within() default "";

	/**
	 * The number of fires that {@link MisfirePolicy#RUN_ALL} runs at most, at least 1.
	 * Older ones are dropped.
	 * @return the number of fires
	 */
	int limit() default 100;

	/**
	 * The number of runs of a node for one fire if they fail, at least 1. A run is
	 * repeated after 1 second, then after twice the time before, up to one minute. After
	 * the last one, {@link MisfirePolicy#RUN_ALL} drops the fire, and otherwise it merges
	 * into the next one. Not for {@link Claim#BEFORE}, whose fires are never repeated.
	 * @return the number of runs
	 */
	int attempts() default 10;

	/**
	 * When a fire is recorded as done.
	 * @return the claim
	 */
	Claim claim() default Claim.IN_TRANSACTION;

}
