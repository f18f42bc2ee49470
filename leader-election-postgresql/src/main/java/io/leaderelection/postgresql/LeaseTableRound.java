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

package io.leaderelection.postgresql;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A round of all elections of a node: renews the leases that are due and reads the rows.
 */
final class LeaseTableRound {

	private static final Log logger = LogFactory.getLog(LeaseTableRound.class);

	private final LeaseTableRequests requests;

	private final LeaseTableElections elections;

	private final String node;

	private final Platform platform;

	/**
	 * Create a new {@code LeaseTableRound} instance.
	 * @param node the id of this node
	 */
	LeaseTableRound(LeaseTableRequests requests, LeaseTableElections elections, String node) {
		this.requests = requests;
		this.elections = elections;
		this.node = node;
		this.platform = requests.platform();
	}

	/**
	 * Answer renewals and reads. Nothing that may wait for other sessions, or fail
	 * because of them, comes before the answers to renewals.
	 */
	void run(LeaseTableConnection open, List<LeaseTableRequest<?>> work) throws SQLException {
		Set<String> all = this.elections.all();
		List<Renewal> renewals = new ArrayList<>();
		for (LeaseTableRequest<?> request : work) {
			all.add(request.session().key());
			if (request.renewal() != null) {
				renewals.add(request.renewal());
			}
		}
		Map<String, LeaseRow> rows = open.round(all, renewals);
		this.elections.observe(all, rows, this.platform.nanoTime());
		this.requests.update(work, (request) -> request.completeRenewal(rows.get(request.session().key())));
		Map<String, NodeProfile> own = this.elections.own();
		Set<String> missing = new TreeSet<>(own.keySet());
		missing.removeAll(rows.keySet());
		if (!missing.isEmpty()) {
			SQLException failure = tolerate(open, "insert rows", () -> {
				open.insert(missing);
				this.elections.observe(missing, open.round(missing, List.of()), this.platform.nanoTime());
			});
			if (failure != null) {
				fail(work, missing, LeaseTableConnector.translate(failure));
			}
		}
		if (this.elections.areCandidatesDue()) {
			tolerate(open, "register candidates", () -> {
				Map<String, List<Candidate>> candidates = open.candidates(this.elections.id(), this.node, own, all,
						LeaseTableElections.CANDIDATE_EXPIRY.toMillis());
				this.elections.observe(candidates, this.platform.nanoTime());
			});
		}
		this.requests.update(work, LeaseTableRequest::completeRead);
	}

	/**
	 * Fail the reads of elections that have no row, so that their candidates say why
	 * nobody leads.
	 */
	private void fail(List<LeaseTableRequest<?>> work, Set<String> missing, SessionException failure) {
		this.requests.update(work.stream()
			.filter((request) -> request.isRead() && missing.contains(request.session().key()))
			.toList(), (request) -> request.fail(failure));
	}

	/**
	 * Run statements on which no leadership rests. Their failure must not end a round.
	 * @return the failure, if any
	 */
	private static @Nullable SQLException tolerate(LeaseTableConnection open, String what, Action action)
			throws SQLException {
		try {
			action.run();
			return null;
		}
		catch (SQLException ex) {
			if (open.mustBeReplaced(ex)) {
				throw ex;
			}
			logger.debug("Could not " + what, ex);
			return ex;
		}
	}

	@FunctionalInterface
	private interface Action {

		void run() throws SQLException;

	}

}
