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

package io.leaderelection.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Election;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Store;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.engine.NodeProfile;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * All elections of the application, created from its properties. All values are validated
 * here, individually and in relation to each other.
 */
final class ElectionDefinitions {

	private static final Log logger = LogFactory.getLog(ElectionDefinitions.class);

	private static final String PREFIX = "leader-election.";

	private static final String PHASE_TIMEOUT_PROPERTY = "spring.lifecycle.timeout-per-shutdown-phase";

	private static final Duration DEFAULT_PHASE_TIMEOUT = Duration.ofSeconds(30);

	/** How long a stop waits at its end for a database that does not answer. */
	private static final Duration DATABASE_GRACE = ElectionTimings.DEFAULTS.stopMargin();

	private static final Duration LONGEST_DEFAULT_DRAIN = Duration.ofSeconds(20);

	private static final Duration SHORTEST_DEFAULT_DRAIN = Duration.ofSeconds(1);

	private static final Duration SHORTEST_LEASE = Duration.ofMillis(500);

	private static final Duration LONGEST_LEASE = Duration.ofHours(1);

	/** For waits that would keep a node from handing over, or from leading. */
	private static final Duration LONGEST_WAIT = Duration.ofHours(24);

	private static final Duration SHORTEST_SPREAD_HOLD = Duration.ofSeconds(10);

	private static final Duration SHORTEST_HOLD = Duration.ofSeconds(1);

	private static final int LONGEST_DELAY_IN_LEASES = 2;

	private static final int MAX_EPOCH = 15;

	private static final int MOST_STANDBYS = 1000;

	/** How many elections one name of partitions stands for at most. */
	static final int MOST_PARTITIONS = 1000;

	/**
	 * The interval of the answers that followers receive from the database, rounded up.
	 * Health has a limit of its own for nodes that watch.
	 */
	private static final Duration FOLLOWER_INTERVAL = Duration.ofSeconds(1);

	private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");

	private static final Pattern NODE_ID = Pattern.compile("[\\x20-\\x7e]{1,255}");

	private static final Pattern METADATA = Pattern.compile("[\\x20-\\x7e]*");

	private static final Pattern METADATA_NAME = Pattern.compile("[\\x20-\\x7e&&[^=]]+");

	private final List<ElectionDefinition> definitions;

	private ElectionDefinitions(List<ElectionDefinition> definitions) {
		this.definitions = Collections.unmodifiableList(definitions);
	}

	/**
	 * Return all elections.
	 * @return the elections, the default first
	 */
	List<ElectionDefinition> all() {
		return this.definitions;
	}

	/**
	 * Return an election that exists.
	 * @param election its name
	 * @return the election
	 */
	ElectionDefinition get(String election) {
		return this.definitions.stream()
			.filter((definition) -> definition.election().equals(election))
			.findFirst()
			.orElseThrow();
	}

	/**
	 * Return how long the stop of all elections may take: the longest drain timeout, the
	 * grace period for interrupted work, and the time for a database that does not
	 * answer.
	 * @return the time from the request to the end of the stop
	 */
	Duration longestStop() {
		return longestDrain().plus(ElectionSettings.GRACE).plus(DATABASE_GRACE);
	}

	Duration longestDrain() {
		return this.definitions.stream()
			.map((definition) -> definition.settings().drainTimeout())
			.max(Duration::compareTo)
			.orElseThrow();
	}

	/**
	 * Create the elections.
	 * @param properties their properties
	 * @param environment the source of other properties
	 * @return the elections
	 * @throws InvalidUsageException if a value cannot be used
	 */
	static ElectionDefinitions of(LeaderElectionProperties properties, Environment environment) {
		Duration phaseTimeout = Binder.get(environment)
			.bind(PHASE_TIMEOUT_PROPERTY, Duration.class)
			.orElse(DEFAULT_PHASE_TIMEOUT);
		String nodeId = nodeId(properties, environment);
		checkName(PREFIX + "name", properties.name());
		checkMetadata(properties.metadata());
		List<ElectionDefinition> definitions = new ArrayList<>();
		definitions.add(new Reader(properties, null, properties.name(), phaseTimeout).read(nodeId));
		properties.elections().forEach((name, election) -> {
			String property = PREFIX + "elections." + name;
			checkName(property, name);
			rejectIf(name.equals(properties.name()), property, name, "The default election has this name.",
					"Configure the default election by " + PREFIX
							+ "lease-duration and so on, or rename one of the two.");
			definitions.add(new Reader(properties, election, name, phaseTimeout).read(nodeId));
		});
		properties.partitions().forEach((name, number) -> {
			String property = PREFIX + "partitions." + name;
			rejectIf(number < 1 || number > MOST_PARTITIONS, property, number,
					"It is not a number of elections from 1 to " + MOST_PARTITIONS + ".",
					"Set such a number, the same on all nodes, or remove the property.");
			for (String partition : partitions(name, number)) {
				checkName(property, partition);
				rejectIf(definitions.stream().anyMatch((other) -> other.election().equals(partition)), property, number,
						"There is another election '" + partition
								+ "'. A partition has the properties of the default election.",
						"Rename one of the two.");
				definitions.add(new Reader(properties, null, partition, phaseTimeout).read(nodeId));
			}
		});
		ElectionDefinitions created = new ElectionDefinitions(definitions);
		if (properties.mode() != Mode.ALWAYS && created.longestStop().compareTo(phaseTimeout) >= 0) {
			logger.warn(PHASE_TIMEOUT_PROPERTY + " is " + print(phaseTimeout)
					+ ", so the application may exit before a hand-over is complete, which takes up to "
					+ print(created.longestStop()));
		}
		checkSpread(properties);
		checkLockIds(properties, definitions);
		checkUnreachableAfter(properties, definitions);
		checkServices(properties.services());
		checkSchedules(properties.schedules());
		checkResignWhenUnhealthy(properties.resignWhenUnhealthy());
		return created;
	}

	/**
	 * Return the names of partitions.
	 * @param name the name that they have in common
	 * @param number their number
	 * @return the names
	 */
	static List<String> partitions(String name, int number) {
		return IntStream.range(0, number).mapToObj((partition) -> name + "-" + partition).toList();
	}

	private static void checkSpread(LeaderElectionProperties properties) {
		rejectIf(properties.spread() && properties.mode() == Mode.POSTGRESQL && properties.store() != Store.TABLE,
				PREFIX + "spread", true,
				"With the advisory lock, a node does not observe all others, nor whether they are alive.",
				"Set " + PREFIX + "store=table and " + PREFIX + "initialize-schema=always, or remove the property.");
		Duration hold = properties.spreadHold();
		rejectIf(hold.compareTo(SHORTEST_SPREAD_HOLD) < 0 || hold.compareTo(LONGEST_WAIT) > 0, PREFIX + "spread-hold",
				hold,
				"A node is observed every few seconds, so a shorter time would not tell whether nodes still change.",
				"Set a duration from " + print(SHORTEST_SPREAD_HOLD) + " to " + LONGEST_WAIT.toHours()
						+ "h with its unit, for instance 10s.");
		Integer maxLed = properties.maxLed();
		rejectIf(maxLed != null && maxLed < 1, PREFIX + "max-led", maxLed,
				"It is not positive, but a node that is a candidate must be allowed to lead.",
				"Set at least 1, or remove it for no limit. To keep this node from leading, set " + PREFIX
						+ "candidate=false.");
	}

	/**
	 * Return a drain timeout that fits into the phase, which the application may have set
	 * for other reasons.
	 */
	private static Duration defaultDrain(Duration phaseTimeout) {
		Duration longest = phaseTimeout.minus(ElectionSettings.GRACE).minus(DATABASE_GRACE.multipliedBy(2));
		Duration shorter = (longest.compareTo(LONGEST_DEFAULT_DRAIN) < 0) ? longest : LONGEST_DEFAULT_DRAIN;
		return (shorter.compareTo(SHORTEST_DEFAULT_DRAIN) > 0) ? shorter : SHORTEST_DEFAULT_DRAIN;
	}

	private static String nodeId(LeaderElectionProperties properties, Environment environment) {
		String nodeId = properties.nodeId();
		if (!StringUtils.hasText(nodeId)) {
			return NodeId.create(environment);
		}
		rejectIf(!NODE_ID.matcher(nodeId).matches(), PREFIX + "node-id", nodeId,
				"It is longer than 255 characters, or contains a character that is not printable ASCII, which a "
						+ "database may not have.",
				"Set an id by which operators recognize the node, or remove it to have one generated.");
		return nodeId;
	}

	private static void checkName(String property, String name) {
		rejectIf(!NAME.matcher(name).matches(), property, name,
				name.isEmpty() ? "The name of an election must not be empty."
						: "The name of an election is part of thread names, metrics and PostgreSQL's views.",
				"Use up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit.");
	}

	private static void checkMetadata(Map<String, String> metadata) {
		metadata.forEach((name, value) -> rejectIf(
				!METADATA.matcher(value).matches() || !METADATA_NAME.matcher(name).matches(),
				PREFIX + "metadata." + name, value,
				"It contains a character that is not printable ASCII, which a database may not have, or its name contains '='.",
				"Remove or encode other characters."));
		int length = new NodeProfile(NodeProfile.PROTOCOL, 0, metadata).metadataText().length();
		rejectIf(length > NodeProfile.MAX_METADATA_LENGTH, PREFIX + "metadata", metadata,
				"As lines of the form name=value, all entries together have " + length
						+ " characters, and each statement of a session begins with them.",
				"Publish at most " + NodeProfile.MAX_METADATA_LENGTH
						+ " characters, for instance a URL from which other nodes can read the rest.");
	}

	private static void checkLockIds(LeaderElectionProperties properties, List<ElectionDefinition> definitions) {
		Map<Long, String> elections = new HashMap<>();
		for (ElectionDefinition definition : definitions) {
			Long lockId = definition.lockId();
			String other = (lockId != null) ? elections.putIfAbsent(lockId, definition.election()) : null;
			rejectIf(other != null, lockIdProperty(definition.election(), properties.name()), lockId,
					"The election '" + other + "' has the same lock: only one of the two could have a leader.",
					"Set different lock ids, or remove them to have them derived from " + PREFIX
							+ "group and the names of the elections.");
		}
	}

	/**
	 * Return the property that sets the lock id of an election.
	 * @param election the name of the election
	 * @param defaultElection the name of the default election
	 * @return the name of the property
	 */
	static String lockIdProperty(String election, String defaultElection) {
		return PREFIX + (election.equals(defaultElection) ? "" : "elections." + election + ".") + "lock-id";
	}

	private static void checkUnreachableAfter(LeaderElectionProperties properties,
			List<ElectionDefinition> definitions) {
		Duration unreachableAfter = properties.health().unreachableAfter();
		for (ElectionDefinition definition : definitions) {
			ElectionSettings settings = definition.settings();
			Duration confirmInterval = settings.confirmInterval();
			Duration interval = (confirmInterval.compareTo(FOLLOWER_INTERVAL) > 0) ? confirmInterval
					: FOLLOWER_INTERVAL;
			rejectIf(unreachableAfter.compareTo(interval) <= 0, PREFIX + "health.unreachable-after", unreachableAfter,
					"In normal operation, this node receives an answer from its database only every " + print(interval)
							+ " (election '" + settings.election() + "').",
					"Set it to a multiple of that.");
		}
	}

	private static void checkServices(LeaderElectionProperties.Services services) {
		rejectIf(services.startAttempts() < 1, PREFIX + "services.start-attempts", services.startAttempts(),
				"A service must be started at least once.",
				"Set 1 to resign after the first failure, or a higher number to retry before that.");
		String property = PREFIX + "services.start-timeout";
		Duration timeout = services.startTimeout();
		rejectIf(timeout.compareTo(LONGEST_WAIT) > 0, property, timeout,
				"A node whose service hangs at start would keep leadership for that long.",
				"Set a duration up to " + LONGEST_WAIT.toHours() + "h with its unit, for instance 1m.");
		rejectIf(timeout.compareTo(Duration.ZERO) <= 0, property, timeout, "A service needs time to start.",
				"Set a duration longer than the start of the slowest service.");
	}

	private static void checkSchedules(LeaderElectionProperties.Schedules schedules) {
		String property = PREFIX + "schedules.transaction-idle-timeout";
		Duration idle = schedules.transactionIdleTimeout();
		rejectIf(idle.compareTo(Duration.ofMillis(1)) < 0, property, idle,
				"It is not positive, so a leader that has stopped could hold the record of a job for ever.",
				"Set at least the longest time for which a job executes no statement, for instance 1m.");
		rejectIf(idle.compareTo(Duration.ofMillis(Integer.MAX_VALUE)) > 0, property, idle,
				"It is longer than PostgreSQL supports.", "Set a shorter time, for instance 1m.");
		Duration skew = schedules.maxClockSkew();
		rejectIf(skew.compareTo(Duration.ZERO) <= 0, PREFIX + "schedules.max-clock-skew", skew,
				"It is not positive, so no fire could be claimed.",
				"Set a time that clocks are never apart, for instance 1m.");
		Duration within = schedules.within();
		rejectIf(within != null && within.compareTo(Duration.ZERO) <= 0, PREFIX + "schedules.within", within,
				"It is not positive, so no fire could run.",
				"Set the age up to which a missed fire is run, for instance 6h.");
	}

	private static void checkResignWhenUnhealthy(LeaderElectionProperties.ResignWhenUnhealthy resignWhenUnhealthy) {
		Duration after = resignWhenUnhealthy.after();
		String property = PREFIX + "resign-when-unhealthy.after";
		String action = "Set a duration up to " + LONGEST_WAIT.toHours() + "h with its unit, for instance 30s.";
		rejectIf(after.isNegative(), property, after, "It is negative.", action);
		rejectIf(after.compareTo(LONGEST_WAIT) > 0, property, after, "An unhealthy node would lead for that long.",
				action);
	}

	private static void rejectIf(boolean invalid, String property, @Nullable Object value, String reason,
			String action) {
		if (invalid && value != null) {
			throw new InvalidUsageException(property, (value instanceof Duration duration) ? print(duration) : value,
					reason, action);
		}
	}

	// Any value, including invalid ones. Milliseconds of very long ones are too large
	static String print(Duration duration) {
		return (duration.toMillisPart() == 0 || duration.toDays() != 0) ? duration.toSeconds() + "s"
				: DurationStyle.SIMPLE.print(duration);
	}

	/**
	 * Reads one election.
	 */
	private static final class Reader {

		private final LeaderElectionProperties properties;

		private final @Nullable Election own;

		private final String election;

		private final Duration phaseTimeout;

		Reader(LeaderElectionProperties properties, @Nullable Election own, String election, Duration phaseTimeout) {
			this.properties = properties;
			this.own = own;
			this.election = election;
			this.phaseTimeout = phaseTimeout;
		}

		ElectionDefinition read(String nodeId) {
			Duration lease = lease();
			return new ElectionDefinition(new ElectionSettings(this.election, nodeId, lease, takeoverDelay(lease),
					this.properties.fastTakeover(), drainTimeout(),
					inherit((this.own != null) ? this.own.candidate() : null, this.properties.candidate()), standbys(),
					new NodeProfile(NodeProfile.PROTOCOL, priority(), capacity(), this.properties.metadata()),
					priorityHold()), lockId(), termEpoch());
		}

		private Duration lease() {
			Duration value = (this.own != null) ? this.own.leaseDuration() : null;
			Duration lease = inherit(value, this.properties.leaseDuration());
			String property = property("lease-duration", value);
			String action = "Set a duration from " + print(SHORTEST_LEASE) + " to " + LONGEST_LEASE.toHours()
					+ "h with its unit, for instance 5s.";
			rejectIf(lease.compareTo(SHORTEST_LEASE) < 0, property, lease,
					"A lease this short would expire with every pause of the JVM or the network.", action);
			rejectIf(lease.compareTo(LONGEST_LEASE) > 0, property, lease,
					"No node would lead for that long after the failure of a leader.", action);
			return lease;
		}

		private Duration takeoverDelay(Duration lease) {
			Duration value = (this.own != null) ? this.own.takeoverDelay() : null;
			Duration delay = inherit(value, this.properties.takeoverDelay());
			String property = property("takeover-delay", value);
			rejectIf(delay.isNegative(), property, delay, "It is negative.",
					"Set 0 for no delay, or up to the duration of the lease.");
			rejectIf(delay.compareTo(lease.multipliedBy(LONGEST_DELAY_IN_LEASES)) > 0, property, delay,
					"After one lease (" + print(lease) + " in the election '" + this.election
							+ "') no earlier leader trusts its leadership any longer; a longer delay only "
							+ "leaves the application without a leader.",
					"Set at most twice the duration of the lease. The duration of the lease is sufficient.");
			return delay;
		}

		private Duration drainTimeout() {
			Duration value = (this.own != null) ? this.own.drainTimeout() : null;
			Duration timeout = (value != null) ? value : this.properties.drainTimeout();
			if (timeout == null) {
				return defaultDrain(this.phaseTimeout);
			}
			String property = property("drain-timeout", value);
			rejectIf(timeout.isNegative(), property, timeout, "It is negative.",
					"Set how long a hand-over may wait for leader work, or 0 to interrupt it at once.");
			rejectIf(timeout.compareTo(LONGEST_WAIT) > 0, property, timeout,
					"A hand-over could take that long, in which no node leads.",
					"Set a duration up to " + LONGEST_WAIT.toHours() + "h with its unit, for instance 20s.");
			Duration longest = this.phaseTimeout.minus(ElectionSettings.GRACE).minus(DATABASE_GRACE);
			rejectIf(this.properties.mode() != Mode.ALWAYS && timeout.compareTo(longest) >= 0, property, timeout,
					"With " + print(ElectionSettings.GRACE) + " of grace for interrupted work and "
							+ print(DATABASE_GRACE) + " for a database that does not answer, it is not below the "
							+ print(this.phaseTimeout) + " of " + PHASE_TIMEOUT_PROPERTY
							+ ": the application would exit before the hand-over is complete.",
					((longest.compareTo(SHORTEST_DEFAULT_DRAIN) > 0) ? "Set it below " + print(longest) + ", or raise "
							: "Raise ") + PHASE_TIMEOUT_PROPERTY + ".");
			return timeout;
		}

		private int standbys() {
			Integer value = (this.own != null) ? this.own.standbys() : null;
			int standbys = inherit(value, this.properties.standbys());
			String property = property("standbys", value);
			rejectIf(standbys < 1, property, standbys,
					"Without a standby, the application would be without a leader for several seconds after each "
							+ "failure of the leader.",
					"Set at least 1. To keep this node from leading, set " + PREFIX + "candidate=false.");
			rejectIf(standbys > MOST_STANDBYS, property, standbys, "Each standby keeps a connection to the database.",
					"Set a number from 1 to " + MOST_STANDBYS + ", for instance 3.");
			return standbys;
		}

		private int priority() {
			Integer value = (this.own != null) ? this.own.priority() : null;
			int priority = inherit(value, this.properties.priority());
			rejectIf(priority < 0 || priority > NodeProfile.MAX_PRIORITY, property("priority", value), priority,
					"The other nodes could not read it.", "Set a number from 0 to " + NodeProfile.MAX_PRIORITY
							+ "; a candidate with a higher number goes first.");
			return priority;
		}

		private int capacity() {
			Integer limit = (this.properties.mode() == Mode.POSTGRESQL) ? this.properties.maxLed() : null;
			if (limit == null) {
				return this.properties.spread() ? NodeProfile.UNLIMITED : 0;
			}
			int capacity = Math.min(limit, NodeProfile.UNLIMITED);
			return this.properties.spread() ? capacity : -capacity;
		}

		private Duration priorityHold() {
			Duration value = (this.own != null) ? this.own.priorityHold() : null;
			Duration hold = inherit(value, this.properties.priorityHold());
			rejectIf(hold.compareTo(SHORTEST_HOLD) < 0 || hold.compareTo(LONGEST_WAIT) > 0,
					property("priority-hold", value), hold,
					"A shorter time would move leadership while nodes start, a longer one hardly ever.",
					"Set a duration from " + print(SHORTEST_HOLD) + " to " + LONGEST_WAIT.toHours()
							+ "h with its unit, for instance 1m.");
			return hold;
		}

		private @Nullable Long lockId() {
			String value = (this.own != null) ? this.own.lockId() : null;
			String lockId = this.election.equals(this.properties.name()) ? this.properties.lockId() : value;
			return StringUtils.hasText(lockId) ? LockId.parse(property("lock-id", value), lockId) : null;
		}

		private int termEpoch() {
			Integer value = (this.own != null) ? this.own.termEpoch() : null;
			int epoch = inherit(value, this.properties.termEpoch());
			rejectIf(epoch < 0 || epoch > MAX_EPOCH, property("term-epoch", value), epoch,
					"A term has four bits for the epoch.", "Set a number from 0 to " + MAX_EPOCH
							+ ". Increase it by one after pg_upgrade, a restore or a move.");
			return epoch;
		}

		// The property to change: inherited values are set on the default election
		private String property(String name, @Nullable Object ownValue) {
			return PREFIX + ((ownValue != null) ? "elections." + this.election + "." : "") + name;
		}

		private static <T> T inherit(@Nullable T own, T inherited) {
			return (own != null) ? own : inherited;
		}

	}

}
