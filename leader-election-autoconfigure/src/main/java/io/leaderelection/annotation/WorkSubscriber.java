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

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

import io.leaderelection.engine.Work;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Stands between the publisher of leader work and who subscribes to it. The work ends
 * before the subscriber hears of its end, or after it has cancelled.
 */
final class WorkSubscriber implements CoreSubscriber<Object>, Subscription {

	private final CoreSubscriber<Object> subscriber;

	private final Work work;

	private final boolean single;

	private final Context context;

	private final AtomicReference<@Nullable Subscription> publisher = new AtomicReference<>();

	/**
	 * Create a new {@code WorkSubscriber} instance.
	 * @param subscriber who subscribes
	 * @param work the work
	 * @param single whether the first element is the last
	 * @param key the key by which the publisher finds the work in its context
	 */
	WorkSubscriber(CoreSubscriber<? super Object> subscriber, Work work, boolean single, Object key) {
		// An interrupt comes from another thread than the elements
		this.subscriber = Operators.serialize(subscriber);
		this.work = work;
		this.single = single;
		this.context = subscriber.currentContext().put(key, work);
	}

	@Override
	public Context currentContext() {
		return this.context;
	}

	/**
	 * Cancel the publisher, and fail.
	 * @param failure gives what the subscriber gets
	 */
	void interrupt(Supplier<Throwable> failure) {
		Subscription subscription = this.publisher.getAndSet(Operators.cancelledSubscription());
		if (subscription == Operators.cancelledSubscription()) {
			return;
		}
		try {
			if (subscription != null) {
				subscription.cancel();
			}
		}
		finally {
			this.work.end();
			if (subscription != null) {
				this.subscriber.onError(failure.get());
			}
			else {
				Operators.error(this.subscriber, failure.get());
			}
		}
	}

	@Override
	public void onSubscribe(Subscription subscription) {
		if (this.publisher.compareAndSet(null, subscription)) {
			this.subscriber.onSubscribe(this);
		}
		else {
			subscription.cancel();
		}
	}

	@Override
	public void onNext(Object element) {
		if (this.single) {
			this.work.end();
		}
		this.subscriber.onNext(element);
	}

	@Override
	public void onError(Throwable failure) {
		this.work.end();
		this.subscriber.onError(failure);
	}

	@Override
	public void onComplete() {
		this.work.end();
		this.subscriber.onComplete();
	}

	@Override
	public void request(long count) {
		Subscription subscription = this.publisher.get();
		if (subscription != null) {
			subscription.request(count);
		}
	}

	@Override
	public void cancel() {
		try {
			Subscription subscription = this.publisher.getAndSet(Operators.cancelledSubscription());
			if (subscription != null) {
				subscription.cancel();
			}
		}
		finally {
			this.work.endCancelled();
		}
	}

}
