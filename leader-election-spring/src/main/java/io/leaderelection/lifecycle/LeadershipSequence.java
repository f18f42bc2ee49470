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

package io.leaderelection.lifecycle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Tells an application of the events of its elections. The order of a grant is:
 * <ol>
 * <li>durable schedules begin their term
 * <li>listeners of the application context and its parents are called
 * <li>endpoints of Spring Integration are started
 * <li>leader-only services are started
 * <li>methods that run on grant are started
 * </ol>
 * The end of leadership has the reverse order. Each participant is told even if one
 * before it fails.
 * <p>
 * Participants receive events from the elections and not as listeners. They therefore
 * receive only events of their own application, and in order, however it configures its
 * listeners.
 */
public final class LeadershipSequence {

	private static final Log logger = LogFactory.getLog(LeadershipSequence.class);

	private final ApplicationContext context;

	private final Listeners listeners = new Listeners();

	private final List<Participant> participants;

	/**
	 * Create a new {@code LeadershipSequence} instance.
	 * @param context the context of the listeners
	 * @param terms begins the term of durable schedules
	 * @param services starts and stops services
	 * @param runs starts the methods that run on grant
	 */
	public LeadershipSequence(ApplicationContext context, Participant terms, Participant services, Participant runs) {
		this.context = context;
		this.participants = new CopyOnWriteArrayList<>(List.of(terms, this.listeners, services, runs));
	}

	/**
	 * Have leadership start and stop the endpoints of Spring Integration.
	 * @param endpoints starts and stops them
	 */
	public void add(Participant endpoints) {
		this.participants.add(this.participants.indexOf(this.listeners) + 1, endpoints);
	}

	/**
	 * Tell all participants of an event.
	 * @param elector the elector of the election
	 * @param event the event
	 */
	public void publish(DefaultLeaderElector elector, ElectionEvent event) {
		List<Participant> order = new ArrayList<>(this.participants);
		if (event instanceof LeadershipGrantedEvent granted) {
			tell(order.iterator(), (participant) -> participant.granted(elector, granted));
		}
		else if (event instanceof LeadershipRevokedEvent revoked) {
			Collections.reverse(order);
			tell(order.iterator(), (participant) -> participant.revoked(elector, revoked));
		}
		else {
			this.context.publishEvent(event);
		}
	}

	private static void tell(Iterator<Participant> participants, Consumer<Participant> call) {
		if (participants.hasNext()) {
			try {
				call.accept(participants.next());
			}
			finally {
				tell(participants, call);
			}
		}
	}

	/**
	 * The listeners of the context. That of a revocation may be called after the context
	 * was closed, if a listener of the grant closes it or does not return before.
	 */
	private final class Listeners implements Participant {

		@Override
		public void granted(DefaultLeaderElector elector, LeadershipGrantedEvent event) {
			LeadershipSequence.this.context.publishEvent(event);
		}

		@Override
		public void revoked(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
			if (LeadershipSequence.this.context instanceof ConfigurableApplicationContext configurable
					&& !configurable.isActive()) {
				logger.warn("Listeners of LeadershipRevokedEvent are not called (" + event.getLeadership() + ", "
						+ event.getReason() + "), since the context is closed: a listener of LeadershipGrantedEvent "
						+ "has closed it or has not returned in time");
			}
			// The parents of the context may still be open
			LeadershipSequence.this.context.publishEvent(event);
		}

	}

	/**
	 * Takes part in each grant and in its end, at its place in the
	 * {@link LeadershipSequence}.
	 */
	@FunctionalInterface
	public interface Participant {

		/**
		 * Called when leadership was granted.
		 * @param elector the elector of the election
		 * @param event the event
		 */
		void granted(DefaultLeaderElector elector, LeadershipGrantedEvent event);

		/**
		 * Called when leadership has ended or is about to end. An orderly hand-over frees
		 * the lock when this method has returned.
		 * @param elector the elector of the election
		 * @param event the event
		 */
		default void revoked(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
		}

	}

}
