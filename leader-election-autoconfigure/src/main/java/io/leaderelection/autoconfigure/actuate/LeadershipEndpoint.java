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

package io.leaderelection.autoconfigure.actuate;

import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionStore.Description;
import io.leaderelection.engine.ResignationAnswer;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.Transition;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;

/**
 * {@link Endpoint @Endpoint} that shows the leader and the candidates, and hands
 * leadership over. Reads perform no I/O. A request to resign may be sent to any node: it
 * is answered at once and reaches the leader through the database.
 */
@Endpoint(id = "leadership", defaultAccess = Access.READ_ONLY)
public class LeadershipEndpoint {

	private static final Log logger = LogFactory.getLog(LeadershipEndpoint.class);

	private static final ThreadLocal<@Nullable Principal> caller = new ThreadLocal<>();

	private final String group;

	private final DefaultLeaderElectors electors;

	private final Supplier<Map<String, String>> fencing;

	private final Supplier<@Nullable SpreadStatus> spread;

	private final Schedules schedules;

	/**
	 * Create a new {@code LeadershipEndpoint} instance.
	 * @param group the group of nodes that share the elections, or an empty text
	 * @param electors the elections
	 * @param fencing provides the coverage of transactions, by transaction manager
	 * @param spread provides how the elections are spread, if they are
	 * @param schedules the durable schedules
	 */
	public LeadershipEndpoint(String group, DefaultLeaderElectors electors, Supplier<Map<String, String>> fencing,
			Supplier<@Nullable SpreadStatus> spread, Schedules schedules) {
		this.group = group;
		this.electors = electors;
		this.fencing = fencing;
		this.spread = spread;
		this.schedules = schedules;
	}

	/**
	 * Have the write operations of this endpoint know who calls them. A parameter would
	 * require a content type for every request.
	 * @return the advisor, which needs no endpoint yet
	 */
	static OperationInvokerAdvisor callerAdvisor() {
		return (id, type, parameters, invoker) -> {
			if (type != OperationType.WRITE || !id.toLowerCaseString().equals("leadership")) {
				return invoker;
			}
			return (context) -> {
				caller.set(context.resolveArgument(Principal.class));
				try {
					return invoker.invoke(context);
				}
				finally {
					caller.remove();
				}
			};
		};
	}

	/**
	 * Return all elections.
	 * @return the elections by name
	 */
	@ReadOperation
	public LeadershipDescriptor leadership() {
		Map<String, ElectionDescriptor> elections = new LinkedHashMap<>();
		for (DefaultLeaderElector elector : this.electors.all()) {
			elections.put(elector.getElection(), describe(elector));
		}
		return new LeadershipDescriptor(this.group, elections, this.fencing.get(), this.spread.get());
	}

	/**
	 * Return one election.
	 * @param election the name of the election
	 * @return the election, or {@code null} if there is none of that name
	 */
	@ReadOperation
	public @Nullable ElectionDescriptor election(@Selector String election) {
		DefaultLeaderElector elector = find(election);
		return (elector != null) ? describe(elector) : null;
	}

	private ElectionDescriptor describe(DefaultLeaderElector elector) {
		Map<String, ScheduleDescriptor> schedules = new LinkedHashMap<>();
		this.schedules.of(elector.getElection()).forEach((name, schedule) -> schedules.put(name, schedule.describe()));
		return ElectionDescriptor.of(this.group, elector, schedules.isEmpty() ? null : schedules);
	}

	/**
	 * Ask the leader of an election to hand over, whichever node that is. Does not wait
	 * for it.
	 * @param election the name of the election
	 * @return whether the leader was asked
	 */
	@WriteOperation
	public ResignationDescriptor resign(@Selector String election) {
		DefaultLeaderElector elector = find(election);
		return (elector != null) ? ask(elector, elector.status()) : unknown(election);
	}

	/**
	 * Ask the leader of an election to hand over if it is the given node. The node is
	 * part of the path, for the same reason as in {@link #callerAdvisor}.
	 * @param election the name of the election
	 * @param node the node that must be the leader, by its id or by the id that other
	 * nodes see
	 * @return whether the leader was asked
	 */
	@WriteOperation
	public ResignationDescriptor resignNode(@Selector String election, @Selector String node) {
		DefaultLeaderElector elector = find(election);
		if (elector == null) {
			return unknown(election);
		}
		ElectionStatus status = elector.status();
		String leader = status.leader();
		// Only the leader knows its full id, and the caller may use either form
		if (leader == null || !new SessionNames(election).isSame(node, leader)) {
			return new ResignationDescriptor("refused", null, leader, "node '" + node + "' does not lead");
		}
		if (status.leaderTerm() == null) {
			return new ResignationDescriptor("refused", null, leader, "the term of node '" + node + "' is not known");
		}
		return ask(elector, status);
	}

	/**
	 * Have the leader run a durable schedule now, or drop the fires that are due. Other
	 * nodes refuse.
	 * @param election the name of the election
	 * @param schedule the name of the schedule
	 * @param action what to do
	 * @return whether it was requested
	 * @throws Throwable if the fires cannot be claimed
	 */
	@WriteOperation
	public ResignationDescriptor schedule(@Selector String election, @Selector String schedule,
			@Selector ScheduleAction action) throws Throwable {
		Schedule found = this.schedules.of(election).get(schedule);
		if (found == null) {
			return new ResignationDescriptor("refused", null, null,
					"there is no schedule '" + schedule + "' in election '" + election + "'");
		}
		ElectionStatus status = this.electors.get(election).status();
		String refusal = found.request(action);
		return answer(action + " of schedule '" + schedule + "'", status, status.leaderTerm(), refusal, cause());
	}

	// Without a body, the response would look like that of a successful write
	private ResignationDescriptor unknown(String election) {
		return new ResignationDescriptor("refused", null, null,
				"there is no election '" + election + "', only " + this.electors.getElections());
	}

	private ResignationDescriptor ask(DefaultLeaderElector elector, ElectionStatus status) {
		String cause = cause();
		ResignationAnswer answer = elector.requestResignation(status.leaderTerm(), cause);
		return answer("Resignation of the leader", status, answer.term(), answer.refusal(), cause);
	}

	private static ResignationDescriptor answer(String request, ElectionStatus status, @Nullable Term term,
			@Nullable String refusal, String cause) {
		logger.info(request + " requested by: " + cause + " (election '" + status.election()
				+ ((refusal != null) ? "', refused: " + refusal : "', term " + term) + ")");
		return new ResignationDescriptor((refusal != null) ? "refused" : "requested", text(term), status.leader(),
				refusal);
	}

	private String cause() {
		Principal principal = caller.get();
		return (principal != null) ? "endpoint, user '" + principal.getName().replaceAll("(?U)\\p{Cntrl}", "?") + "'"
				: "endpoint";
	}

	private @Nullable DefaultLeaderElector find(String election) {
		return this.electors.getElections().contains(election) ? this.electors.get(election) : null;
	}

	private static @Nullable String text(@Nullable Term term) {
		return (term != null) ? term.toString() : null;
	}

	/**
	 * The durable schedules of this application, which are optional.
	 */
	@FunctionalInterface
	public interface Schedules {

		/** No schedules. */
		Schedules NONE = (election) -> Map.of();

		/**
		 * Return the schedules of an election.
		 * @param election the name of the election
		 * @return the schedules by name
		 */
		Map<String, Schedule> of(String election);

	}

	/**
	 * A durable schedule.
	 */
	public interface Schedule {

		/**
		 * Describe the schedule.
		 * @return the description
		 */
		ScheduleDescriptor describe();

		/**
		 * Request an action.
		 * @param action the action
		 * @return why it is refused, or {@code null} if it is not
		 * @throws Throwable if the fires cannot be claimed
		 */
		@Nullable String request(ScheduleAction action) throws Throwable;

	}

	/**
	 * Description of all elections.
	 *
	 * @param group the group of nodes that share the elections
	 * @param elections the elections by name
	 * @param fencing which transactions are fenced, by transaction manager
	 * @param spread how the elections are spread over the nodes, if they are
	 */
	public record LeadershipDescriptor(String group, Map<String, ElectionDescriptor> elections,
			Map<String, String> fencing, @Nullable SpreadStatus spread) implements OperationResponseBody {

	}

	/**
	 * Description of an election.
	 *
	 * @param group the group of nodes that share the election
	 * @param store what the election consists of: {@code advisory-lock}, {@code table} or
	 * {@code none}
	 * @param table the qualified name of the table, with {@code table}
	 * @param lockId the id of the election on its database: nodes with the same one elect
	 * one common leader
	 * @param database the database, without credentials
	 * @param role the role of this node
	 * @param node the id of this node
	 * @param term the term in which this node leads, if it does
	 * @param since since when it leads, if it does
	 * @param candidate whether this node is a candidate now
	 * @param watching whether this node observes less often than a standby, and waits
	 * until a candidate is needed
	 * @param leader the leader as observed by this node
	 * @param candidates the candidates, the leader included
	 * @param lastConfirmation when the database last answered
	 * @param lease the length of the lease
	 * @param leaseRemaining how long leadership is trusted without a further confirmation
	 * @param takeover {@code fast} if another node would take over fast from this node if
	 * it led and its process was killed, or a word for the reason why not, if it has a
	 * session
	 * @param workInFlight the number of units of leader work that are running on this
	 * node
	 * @param blockedBy what an elected node waits for before it leads
	 * @param problem why this node has no session, is not a candidate or is disturbed by
	 * a foreign session, if so
	 * @param transitions the last changes that this node observed, the latest last
	 * @param schedules the durable schedules by name, if there are any
	 */
	public record ElectionDescriptor(String group, String store, @Nullable String table, @Nullable String lockId,
			@Nullable String database, String role, String node, @Nullable String term, @Nullable Instant since,
			boolean candidate, boolean watching, @Nullable LeaderDescriptor leader, List<String> candidates,
			@Nullable Instant lastConfirmation, Duration lease, Duration leaseRemaining, @Nullable String takeover,
			int workInFlight, @Nullable String blockedBy, @Nullable String problem,
			List<TransitionDescriptor> transitions,
			@Nullable Map<String, ScheduleDescriptor> schedules) implements OperationResponseBody {

		static ElectionDescriptor of(String group, DefaultLeaderElector elector,
				@Nullable Map<String, ScheduleDescriptor> schedules) {
			ElectionStatus status = elector.status();
			boolean candidate = elector.isCandidate() && !elector.isSuspended() && status.role() != Role.STOPPED;
			LeaderDescriptor leader = (status.leader() != null) ? new LeaderDescriptor(status.leader(),
					status.leaderSession(), text(status.leaderTerm()), status.leaderSince(),
					status.leaderProfile().priority(), status.leaderProfile().metadata(), status.leaderRole()) : null;
			Description store = elector.describeStore();
			return new ElectionDescriptor(group, store.store(), store.table(), store.lockId(), store.database(),
					status.role().name().toLowerCase(Locale.ROOT), status.nodeId(), text(status.term()), status.since(),
					candidate, status.watching(), leader, status.candidates(), status.lastConfirmation(),
					status.lease(), status.leaseRemaining(), status.takeover(), status.workInFlight(),
					status.blockedBy(), status.problem(),
					status.history().stream().map(TransitionDescriptor::of).toList(), schedules);
		}

	}

	/**
	 * Description of the leader as observed by a node.
	 *
	 * @param node the id of the node; on other nodes it may be shortened in the middle,
	 * with '_' for spaces and some other characters, and then contains a hash of the
	 * whole id
	 * @param applicationName the {@code application_name} of its session on the database
	 * @param term its term
	 * @param since since when it leads, to the second
	 * @param priority its priority
	 * @param metadata what it publishes about itself
	 * @param databaseRole the role with which another node has logged in
	 */
	public record LeaderDescriptor(String node, @Nullable String applicationName, @Nullable String term,
			@Nullable Instant since, int priority, Map<String, String> metadata, @Nullable String databaseRole) {

	}

	/**
	 * Description of a change of the leader.
	 *
	 * @param time when this node observed it
	 * @param change {@code granted} or {@code revoked} for this node, {@code followed} if
	 * another node leads now, {@code requested} if this node has asked it to resign
	 * @param node the node that leads or led
	 * @param term its term
	 * @param reason why its leadership was revoked
	 * @param cause who or what requested the end of the term, if it was requested
	 */
	public record TransitionDescriptor(Instant time, String change, String node, @Nullable String term,
			@Nullable String reason, @Nullable String cause) {

		static TransitionDescriptor of(Transition transition) {
			String reason = (transition.reason() != null) ? transition.reason().name().toLowerCase(Locale.ROOT) : null;
			return new TransitionDescriptor(transition.time(), transition.kind().name().toLowerCase(Locale.ROOT),
					transition.node(), text(transition.term()), reason, transition.cause());
		}

	}

	/**
	 * Description of a durable schedule.
	 *
	 * @param cron the cron expressions
	 * @param zone their time zones
	 * @param lastFire the nominal time of the last fire that is done, or when the job
	 * began; on the leader only, as are the outcome and the lag
	 * @param nextFire the next nominal time
	 * @param lastOutcome {@code running}, {@code completed} or {@code failed} with the
	 * class of the exception
	 * @param lag how long the oldest fire has been due, or negative if the last fire is
	 * ahead
	 * @param completed the number of runs of this node that completed
	 * @param failed the number of runs of this node that failed
	 * @param missed the number of fires that did not run
	 * @param caughtUp the number of runs that caught up
	 */
	public record ScheduleDescriptor(String cron, String zone, @Nullable Instant lastFire, @Nullable Instant nextFire,
			@Nullable String lastOutcome, @Nullable Duration lag, long completed, long failed, long missed,
			long caughtUp) {

	}

	/**
	 * Description of the answer to a request.
	 *
	 * @param status {@code requested} or {@code refused}
	 * @param term the term that the request applies to
	 * @param leader the leader, if it is known
	 * @param reason why it was refused
	 */
	public record ResignationDescriptor(String status, @Nullable String term, @Nullable String leader,
			@Nullable String reason) implements OperationResponseBody {

	}

	/**
	 * What to do with a durable schedule.
	 */
	public enum ScheduleAction {

		/** Run it now, although no fire may be due. */
		RUN,

		/** Drop the fires that are due. */
		SKIP

	}

}
