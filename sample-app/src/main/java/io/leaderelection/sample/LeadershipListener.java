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

package io.leaderelection.sample;

import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;

/**
 * Receives each change of leadership: start and stop here what only a leader needs.
 */
@Component
class LeadershipListener {

	private static final Log logger = LogFactory.getLog(LeadershipListener.class);

	@EventListener
	void granted(LeadershipGrantedEvent event) {
		logger.info("=====> This node leads now, in term " + event.getLeadership().getTerm());
	}

	@EventListener
	void revoked(LeadershipRevokedEvent event) {
		logger.info("<===== This node no longer leads: " + event.getReason());
	}

}
