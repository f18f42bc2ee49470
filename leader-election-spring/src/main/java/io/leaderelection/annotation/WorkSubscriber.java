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

package io.leaderelection.annotation;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import io.leaderelection.engine.Work;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Connects the publisher of leader work with its subscriber. The work ends before the end
 * is signalled to the subscriber, or after the subscriber has cancelled.
 */
final class WorkSubscriber implements CoreSubscriber<Object>, Subscription {

	private static final Subscription NONE = Operators.cancelledSubscription();

	private final CoreSubscriber<Object> subscriber;

	private final Work work;

	private final boolean single;

	private final Context context;

	/**
	 * The subscription of the publisher: {@code null} before {@code onSubscribe}, this
	 * object while the subscriber's {@code onSubscribe} runs, {@link #NONE} once it is
	 * cancelled.
	 */
	private final AtomicReference<@Nullable Subscription> publisher = new AtomicReference<>();

	private final AtomicLong requestedEarly = new AtomicLong();

	/**
	 * The outcome for the subscriber: the failure, or this object if the outcome is that
	 * of the publisher.
	 */
	private final AtomicReference<@Nullable Object> outcome = new AtomicReference<>();

	WorkSubscriber(CoreSubscriber<? super Object> subscriber, Work work, boolean single, Object key) {
		// A failure is signalled by another thread than the elements
		this.subscriber = Operators.serialize(subscriber);
		this.work = work;
		this.single = single;
		this.context = subscriber.currentContext().put(key, work).putAllMap(work.context());
	}

	@Override
	public Context currentContext() {
		return this.context;
	}

	/**
	 * Cancel the publisher and fail, also before the subscription. Does nothing if the
	 * subscriber has cancelled or the publisher has terminated.
	 * @param failure the failure for the subscriber
	 */
	void fail(Throwable failure) {
		if (!this.outcome.compareAndSet(null, failure)) {
			return;
		}
		Subscription subscription = this.publisher.getAndSet(NONE);
		if (subscription == NONE) {
			return;
		}
		try {
			if (subscription != null && subscription != this) {
				subscription.cancel();
			}
		}
		finally {
			this.work.failed(failure);
			this.work.endCancelled();
			if (subscription == null) {
				Operators.error(this.subscriber, failure);
			}
			else if (subscription != this) {
				this.subscriber.onError(failure);
			}
		}
	}

	/**
	 * Until the subscriber has returned, which may take long, nothing is requested and no
	 * failure is signalled, since it may not be ready for one.
	 */
	@Override
	public void onSubscribe(Subscription subscription) {
		if (!this.publisher.compareAndSet(null, this)) {
			subscription.cancel();
			return;
		}
		this.subscriber.onSubscribe(this);
		if (this.publisher.compareAndSet(this, subscription)) {
			requestEarly(subscription);
			return;
		}
		subscription.cancel();
		if (this.outcome.get() instanceof Throwable failure) {
			this.subscriber.onError(failure);
		}
	}

	@Override
	public void onNext(Object element) {
		// No failure may follow the element of a Mono
		if (this.single ? !endsAsPublished() : this.outcome.get() instanceof Throwable) {
			Operators.onDiscard(element, this.context);
			return;
		}
		if (this.single) {
			this.work.end();
		}
		this.subscriber.onNext(element);
	}

	@Override
	public void onError(Throwable failure) {
		this.work.failed(failure);
		this.work.end();
		if (endsAsPublished()) {
			this.subscriber.onError(failure);
		}
	}

	@Override
	public void onComplete() {
		this.work.end();
		if (endsAsPublished()) {
			this.subscriber.onComplete();
		}
	}

	/**
	 * Set the outcome to that of the publisher, unless it is already a failure: the
	 * failure may not have been signalled yet, and the subscriber may not even have a
	 * subscription.
	 */
	private boolean endsAsPublished() {
		return !(this.outcome.compareAndExchange(null, this) instanceof Throwable);
	}

	@Override
	public void request(long count) {
		if (count <= 0) {
			fail(Exceptions.nullOrNegativeRequestException(count));
			return;
		}
		Subscription subscription = this.publisher.get();
		if (subscription != null && subscription != this) {
			subscription.request(count);
			return;
		}
		this.requestedEarly.accumulateAndGet(count, Operators::addCap);
		subscription = this.publisher.get();
		if (subscription != null && subscription != this) {
			requestEarly(subscription);
		}
	}

	private void requestEarly(Subscription subscription) {
		long count = this.requestedEarly.getAndSet(0);
		if (count > 0) {
			subscription.request(count);
		}
	}

	@Override
	public void cancel() {
		try {
			Subscription subscription = this.publisher.getAndSet(NONE);
			if (subscription != null && subscription != this) {
				subscription.cancel();
			}
		}
		finally {
			this.work.endCancelled();
		}
	}

}
