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
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.WorkAdvisor;
import io.leaderelection.annotation.WorkAdvisor.Advice;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.annotation.RepeatableContainers;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.Assert;

/**
 * Has methods with {@link DurableSchedule @DurableSchedule} claim their fires, and
 * rejects unsupported uses of the annotation.
 */
final class DurableScheduleAdvisor implements WorkAdvisor {

	private static final List<String> RETRYABLE = List.of("org.springframework.resilience.annotation.Retryable",
			"org.springframework.retry.annotation.Retryable");

	private final ObjectProvider<DurableSchedules> schedules;

	DurableScheduleAdvisor(ObjectProvider<DurableSchedules> schedules) {
		this.schedules = schedules;
	}

	static DurableSchedule annotationOf(Method method, String description) {
		DurableSchedule annotation = AnnotatedElementUtils.findMergedAnnotation(method, DurableSchedule.class);
		Assert.state(annotation != null, () -> description + " has no durable schedule");
		return annotation;
	}

	@Override
	public Advice advise(Method method, Class<?> type, String description) {
		return this.schedules.getObject().find(method, type, description);
	}

	/**
	 * Check what the declaration of a method says without its placeholders.
	 * @throws InvalidUsageException if it cannot be durable
	 */
	@Override
	public void check(Method method, String description, Usage usage) {
		DurableSchedule annotation = annotationOf(method, description);
		Set<Scheduled> schedules = schedules(method);
		if (usage.leaderOnly() && !annotation.election().isEmpty()) {
			throw invalid(description, "names its election, although @LeaderOnly does.", "Remove one of them.");
		}
		if (schedules.isEmpty() || !isScheduled(method, annotation)
				|| !schedules.stream().allMatch(DurableScheduleAdvisor::isCron)) {
			throw invalid(description,
					"is not scheduled by cron expressions only: without one, or with fixed rates and delays, there are no nominal times that could be recorded.",
					"Use @DurableSchedule(cron = ...) or @Scheduled(cron = ...).");
		}
		if (annotation.claim() == Claim.BEFORE && Stream.of(method, usage.type())
			.map((element) -> MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY))
			.anyMatch((annotations) -> RETRYABLE.stream().anyMatch(annotations::isPresent))) {
			throw invalid(description,
					"is @Retryable with claim = BEFORE: the first attempt claims the fire, so the second one finds none due and counts as a success.",
					"Use claim = IN_TRANSACTION or AFTER, or call a @Retryable method of another bean.");
		}
		if (usage.parameters() > 0) {
			throw invalid(description, "has parameters: a scheduled method has no arguments.",
					"Remove the parameters. FireTime.current() returns the time of the fire.");
		}
		if (usage.runOnGrant()) {
			throw invalid(description, "also runs on every grant (runOnGrant).",
					"Remove runOnGrant: a durable schedule runs on grant if a fire is due.");
		}
		if (!usage.skippable()) {
			throw invalid(description, "returns " + method.getReturnType().getName()
					+ ": a call when no fire is due has no result of this type.", "Return void.");
		}
		if (annotation.claim() == Claim.IN_TRANSACTION && usage.deferred()) {
			throw invalid(description,
					"returns " + method.getReturnType().getName()
							+ ": the work continues when the transaction of the claim (IN_TRANSACTION) has ended.",
					"Use claim = BEFORE (at most once) or AFTER (at least once), or do the work before the method returns.");
		}
		if (Future.class.isAssignableFrom(method.getReturnType())
				&& !CompletionStage.class.isAssignableFrom(method.getReturnType())) {
			throw invalid(description,
					"returns " + method.getReturnType().getName() + ": its completion cannot be observed.",
					"Return a CompletableFuture.");
		}
		if (annotation.limit() < 1 || annotation.attempts() < 1) {
			throw invalid(description,
					"has limit = %d and attempts = %d.".formatted(annotation.limit(), annotation.attempts()),
					"Set at least 1.");
		}
	}

	static Set<Scheduled> schedules(Method method) {
		// As Spring does
		return AnnotatedElementUtils.getMergedRepeatableAnnotations(method, Scheduled.class, Schedules.class);
	}

	private static boolean isScheduled(Method method, DurableSchedule annotation) {
		return !annotation.cron().equals(Scheduled.CRON_DISABLED) || MergedAnnotations
			.from(method, SearchStrategy.INHERITED_ANNOTATIONS,
					RepeatableContainers.of(Scheduled.class, Schedules.class))
			.stream(Scheduled.class)
			.anyMatch((scheduled) -> !scheduled.getMetaTypes().contains(DurableSchedule.class));
	}

	private static boolean isCron(Scheduled scheduled) {
		return !scheduled.cron().isEmpty() && scheduled.fixedDelay() < 0 && scheduled.fixedRate() < 0
				&& scheduled.fixedDelayString().isEmpty() && scheduled.fixedRateString().isEmpty();
	}

	private static InvalidUsageException invalid(String description, String reason, String action) {
		return new InvalidUsageException(description + " has a durable schedule, but " + reason, action);
	}

}
