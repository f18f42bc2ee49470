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
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;

import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;

/**
 * Rejects unsupported uses of {@link DurableSchedule @DurableSchedule}. Internal.
 */
public final class DurableRules {

	private final String description;

	private final DurableSchedule annotation;

	private final Set<Scheduled> schedules;

	private DurableRules(String description, DurableSchedule annotation, Set<Scheduled> schedules) {
		this.description = description;
		this.annotation = annotation;
		this.schedules = schedules;
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
	 * @param annotation its annotation
	 * @param description the method, for messages
	 * @param usage how the method is used
	 * @throws InvalidDurableScheduleException if it cannot be durable
	 */
	public static void check(Method method, DurableSchedule annotation, String description, Usage usage) {
		new DurableRules(description, annotation, schedules(method)).check(method, usage);
	}

	static Set<Scheduled> schedules(Method method) {
		// As Spring does
		return AnnotatedElementUtils.getMergedRepeatableAnnotations(method, Scheduled.class, Schedules.class);
	}

	private void check(Method method, Usage usage) {
		if (!usage.guarded()) {
			throw invalid("is not guarded by @LeaderOnly, so it would run on every node.", "Add @LeaderOnly.");
		}
		if (this.schedules.isEmpty() || !this.schedules.stream().allMatch(DurableRules::isCron)) {
			throw invalid(
					"is not scheduled by cron expressions only: without @Scheduled, or with fixed rates and delays, there are no nominal times that could be recorded.",
					"Use @Scheduled(cron = ...).");
		}
		if (usage.parameters() > 0) {
			throw invalid("has parameters: a scheduled method has no arguments.",
					"Remove the parameters. FireTime.current() returns the time of the fire.");
		}
		if (usage.runOnGrant()) {
			throw invalid("also runs on every grant (runOnGrant).",
					"Remove runOnGrant: a durable schedule runs on grant if a fire is due.");
		}
		if (!usage.skippable()) {
			throw invalid("returns " + method.getReturnType().getName()
					+ ": a call when no fire is due has no result of this type.", "Return void.");
		}
		if (this.annotation.claim() == Claim.IN_TRANSACTION && usage.deferred()) {
			throw invalid(
					"returns " + method.getReturnType().getName()
							+ ": the work continues when the transaction of the claim (IN_TRANSACTION) has ended.",
					"Use claim = BEFORE (at most once) or AFTER (at least once), or do the work before the method returns.");
		}
		if (Future.class.isAssignableFrom(method.getReturnType())
				&& !CompletionStage.class.isAssignableFrom(method.getReturnType())) {
			throw invalid("returns " + method.getReturnType().getName() + ": its completion cannot be observed.",
					"Return a CompletableFuture.");
		}
		if (this.annotation.limit() < 1) {
			throw invalid("has limit = " + this.annotation.limit() + ".", "Set a limit of at least 1.");
		}
	}

	private static boolean isCron(Scheduled scheduled) {
		return !scheduled.cron().isEmpty() && scheduled.fixedDelay() < 0 && scheduled.fixedRate() < 0
				&& scheduled.fixedDelayString().isEmpty() && scheduled.fixedRateString().isEmpty();
	}

	private InvalidDurableScheduleException invalid(String reason, String action) {
		return new InvalidDurableScheduleException(this.description + " has a durable schedule, but " + reason, action);
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

}
