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

package io.leaderelection.engine;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Ended;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.engine.Position.HandingOver;
import io.leaderelection.engine.Position.Leading;
import io.leaderelection.engine.Position.Loss;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.Transitions.Moment;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Transitions}: those that depend on the position, in each position. The
 * tests of the election test what a transition causes.
 */
@Tag("ring1")
class TransitionsTests {

	/**
	 * From each position to the next, with what is new in the state beside it. Of a row
	 * for any position, "=" is that position. A transition that is not listed for a
	 * position is not possible there.
	 */
	private static final String TABLE = """
			begin            stopped     following
			stop             stopped     stopped stopping
			stop             following   following stopping
			stop             elected     resigned stopping
			stop             resigned    resigned stopping
			stop             leading     draining stopping
			stop             draining    draining stopping
			stop             interrupted interrupted stopping
			stop             notified    notified stopping
			stop             freeing     freeing stopping
			stop             lost        lost stopping
			end              *           stopped
			elect            *           elected
			block            elected     elected blocked
			block            resigned    resigned blocked
			grant            *           leading granted
			grant            leading     leading granted
			grant            resigned    -
			grant            draining    -
			grant            interrupted -
			grant            notified    -
			grant            freeing     -
			resign           elected     resigned
			resign           leading     draining
			interrupt-late   draining    interrupted
			interrupt-late   notified    notified interrupted
			notify           draining    notified revoked
			notify           interrupted notified interrupted revoked
			end-trust        draining    freeing revoked
			end-trust        interrupted freeing revoked
			end-trust        notified    freeing
			handed-over      elected     following
			handed-over      resigned    following suspended-resigned
			handed-over      freeing     following suspended-resigned
			handed-over      lost        following
			lose             leading     lost revoked
			lose             draining    lost revoked
			lose             interrupted lost revoked
			lose             notified    lost
			expire-late      leading     lost revoked
			expire-late      draining    lost revoked
			expire-late      interrupted lost revoked
			expire-late      notified    lost
			suspend          stopped     stopped suspended-unhealthy
			suspend          following   following suspended-unhealthy
			suspend          elected     resigned suspended-unhealthy
			suspend          resigned    resigned suspended-unhealthy
			suspend          leading     draining suspended-unhealthy
			suspend          draining    draining suspended-unhealthy
			suspend          interrupted interrupted suspended-unhealthy
			suspend          notified    notified suspended-unhealthy
			suspend          freeing     freeing suspended-unhealthy
			suspend          lost        lost suspended-unhealthy
			suspend-term     leading     draining suspended-services_failed
			suspend-term     draining    draining suspended-services_failed
			suspend-term     interrupted interrupted suspended-services_failed
			suspend-term     notified    notified suspended-services_failed
			spread           stopped     stopped suspended-spread
			spread           following   following suspended-spread
			spread           freeing     freeing suspended-spread
			spread           lost        lost suspended-spread
			follow           following   following followed
			request          *           = requesting requested
			end-request      *           =
			resume           *           =
			""";

	private static final ElectionFixture FIXTURE = new ElectionFixture();

	private static final long NOW = Duration.ofMinutes(1).toNanos();

	/** When trust and drain-timeout of every position end. */
	private static final long LATE = NOW + Duration.ofSeconds(1).toNanos();

	private static final long TRUST = ElectionFixture.TRUST.toNanos();

	private static final Term TERM = new Term(0, 1, 7);

	private static final TermLeadership LEADERSHIP = leadership();

	private static final Holder OTHER = new Holder("node-2", "pid 2", new Term(0, 1, 8), Instant.EPOCH,
			NodeProfile.DEFAULT, null);

	private static final List<Candidate> BOTH = List.of(new Candidate("node-1", "pid 1"),
			new Candidate("node-2", "pid 2"));

	private static final Transitions TRANSITIONS = FIXTURE.election.transitions();

	private static final HandOver HAND_OVER = new HandOver(Reason.RESIGNED, "test", LATE, false,
			new CompletableFuture<>());

	private static final Map<String, Position> POSITIONS = Map.of("stopped", new Stopped(), "following",
			new Following(), "elected", new Elected(TERM, null, null), "resigned", new Elected(TERM, null, HAND_OVER),
			"leading", new Leading(LEADERSHIP), "draining", new HandingOver(LEADERSHIP, HAND_OVER, false),
			"interrupted", new HandingOver(LEADERSHIP, HAND_OVER.afterInterrupt(), false), "notified",
			new HandingOver(LEADERSHIP, HAND_OVER, true), "freeing", new Ended(HAND_OVER, null), "lost",
			new Ended(null, new Loss(LEADERSHIP, Reason.SESSION_LOST, 0)));

	private static final Map<String, BiFunction<ElectionState, Moment, ElectionState>> EVENTS = Map.ofEntries(
			Map.entry("begin", TRANSITIONS::begin),
			Map.entry("stop", (state, now) -> TRANSITIONS.stop(state, now, new CompletableFuture<>())),
			Map.entry("end", (state, now) -> TRANSITIONS.end(state)),
			Map.entry("elect", (state, now) -> TRANSITIONS.elect(state, TERM)),
			Map.entry("block", (state, now) -> TRANSITIONS.block(state, "backend 7")),
			Map.entry("grant", (state, now) -> TRANSITIONS.grant(state, now, LEADERSHIP, NOW)),
			Map.entry("grant-late", (state, now) -> TRANSITIONS.grant(state, now, LEADERSHIP, LATE - TRUST)),
			Map.entry("resign", (state, now) -> TRANSITIONS.resign(state, now, "test", new CompletableFuture<>())),
			Map.entry("interrupt", TRANSITIONS::interrupt), Map.entry("interrupt-late", TRANSITIONS::interrupt),
			Map.entry("notify", TRANSITIONS::notifyListeners), Map.entry("end-trust", TRANSITIONS::endTrust),
			Map.entry("handed-over", TRANSITIONS::handedOver),
			Map.entry("lose", (state, now) -> TRANSITIONS.lose(state, now, null)),
			Map.entry("expire", TRANSITIONS::expire), Map.entry("expire-late", TRANSITIONS::expire),
			Map.entry("suspend",
					(state, now) -> TRANSITIONS.suspend(state, now, Suspension.UNHEALTHY, 1,
							new CompletableFuture<>())),
			Map.entry("suspend-term", TransitionsTests::suspendTerm),
			Map.entry("spread", (state, now) -> TRANSITIONS.suspendForSpread(state, now, 1)),
			Map.entry("resume",
					(state, now) -> TRANSITIONS.resume(state.suspended(Suspension.UNHEALTHY, LATE),
							Suspension.UNHEALTHY)),
			Map.entry("resume-other", (state, now) -> TRANSITIONS.resume(state, Suspension.UNHEALTHY)),
			Map.entry("follow", (state, now) -> TRANSITIONS.follow(state, now, new View(OTHER, BOTH, null))),
			Map.entry("request", (state, now) -> TRANSITIONS.request(state, now, OTHER, TERM, "test")),
			Map.entry("end-request", (state, now) -> TRANSITIONS.endRequest(state.requesting(TERM), TERM)),
			Map.entry("end-other-request", (state, now) -> TRANSITIONS.endRequest(state, TERM)));

	@ParameterizedTest(name = "{0} when {1} -> {2}")
	@MethodSource("cases")
	void transition(String event, String position, String expected) {
		ElectionState before = at(position);
		long nanos = event.endsWith("-late") ? LATE : NOW;
		ElectionState after = EVENTS.get(event).apply(before, moment(nanos));
		assertThat(describe(before, after)).isEqualTo(expected);
	}

	@Test
	void trustIsExtendedUntilItEnds() {
		TermLeadership leadership = leadership();
		leadership.trust(LATE);
		assertThat(TRANSITIONS.extend(leadership, LATE - 1, NOW)).isTrue();
		assertThat(leadership.trustRemaining(NOW)).isEqualTo(TRUST);
		assertThat(TRANSITIONS.extend(leadership, NOW + TRUST, LATE)).isFalse();
	}

	@Test
	void trustThatAReaderHasFoundToHaveEndedIsNotExtended() {
		TermLeadership leadership = leadership();
		leadership.trust(LATE);
		assertThat(leadership.trustRemaining(LATE)).isZero();
		assertThat(TRANSITIONS.extend(leadership, LATE - 1, LATE)).as("by a thread that read the time before")
			.isFalse();
		assertThat(leadership.trustRemaining(NOW)).isZero();
	}

	@Test
	void lossSaysForHowLongNothingWasConfirmed() {
		Loss loss = new Loss(LEADERSHIP, Reason.SESSION_LOST, NOW - (LATE - TRUST));
		assertThat(TRANSITIONS.lose(at("leading"), moment(NOW), null).position()).isEqualTo(new Ended(null, loss));
	}

	@ParameterizedTest
	@CsvSource({ "PT1S, PT1S", "PT20S, PT5S" })
	void nodeThatHasResignedYieldsForALeaseButNotForLong(Duration lease, Duration yields) {
		Transitions transitions = new Transitions(
				new ElectionSettings("default", "node-1", lease, Duration.ZERO, Duration.ZERO, true),
				ElectionTimings.DEFAULTS);
		ElectionState following = transitions.handedOver(at("freeing"), moment(NOW));
		assertThat(following.suspensions()).isEqualTo(Map.of(Suspension.RESIGNED, NOW + yields.toNanos()));
	}

	@Test
	void suspensionForSpreadIsExtendedOnceHalfOfItIsOver() {
		ElectionState suspended = TRANSITIONS.suspendForSpread(at("following"), moment(NOW), 10);
		assertThat(TRANSITIONS.suspendForSpread(suspended, moment(NOW + 4), 10)).isSameAs(suspended);
		assertThat(TRANSITIONS.suspendForSpread(suspended, moment(NOW + 5), 10).suspensions())
			.isEqualTo(Map.of(Suspension.SPREAD, NOW + 15));
	}

	static Stream<Arguments> cases() {
		return EVENTS.keySet()
			.stream()
			.sorted()
			.flatMap((event) -> POSITIONS.keySet()
				.stream()
				.sorted()
				.map((position) -> Arguments.of(event, position, expected(event, position))));
	}

	private static ElectionState at(String position) {
		LEADERSHIP.trust(LATE);
		return ElectionState.stopped(NOW).at(POSITIONS.get(position)).with(new View(null, BOTH, null));
	}

	private static Moment moment(long nanos) {
		return new Moment(nanos, Instant.EPOCH, FIXTURE.election.effects().new Effects(nanos));
	}

	private static String expected(String event, String position) {
		return rows(event, position).findFirst()
			.or(() -> rows(event, "*").findFirst())
			.map((next) -> next.replace("=", position))
			.orElse("-");
	}

	private static Stream<String> rows(String event, String position) {
		return TABLE.lines()
			.map((row) -> row.split(" +", 3))
			.filter((row) -> row[0].equals(event) && row[1].equals(position))
			.map((row) -> row[2]);
	}

	/**
	 * Return the position, and what else is new in a state.
	 */
	private static String describe(ElectionState before, ElectionState after) {
		if (after == before) {
			return "-";
		}
		Stream<String> suspended = Arrays.stream(Suspension.values())
			.filter((cause) -> after.isSuspended(cause, NOW))
			.map((cause) -> "suspended-" + cause.name().toLowerCase(Locale.ROOT));
		Stream<String> remembered = after.history()
			.stream()
			.map((transition) -> transition.kind().name().toLowerCase(Locale.ROOT));
		return Stream
			.of(Stream.of(name(after.position())), after.isStopping() ? Stream.of("stopping") : Stream.<String>empty(),
					suspended, (after.request() != null) ? Stream.of("requesting") : Stream.<String>empty(), remembered)
			.flatMap((words) -> words)
			.collect(Collectors.joining(" "));
	}

	private static String name(Position position) {
		if (position instanceof Elected elected) {
			return ((elected.handOver() != null) ? "resigned" : "elected")
					+ ((elected.blockedBy() != null) ? " blocked" : "");
		}
		if (position instanceof HandingOver handingOver) {
			boolean interrupted = handingOver.handOver().interrupted();
			return handingOver.notified() ? interrupted ? "notified interrupted" : "notified"
					: interrupted ? "interrupted" : "draining";
		}
		if (position instanceof Ended ended) {
			return (ended.loss() != null) ? "lost" : "freeing";
		}
		return position.getClass().getSimpleName().toLowerCase(Locale.ROOT);
	}

	private static ElectionState suspendTerm(ElectionState state, Moment now) {
		return TRANSITIONS.suspendTerm(state, now, Suspension.SERVICES_FAILED, LEADERSHIP, 1,
				new CompletableFuture<>());
	}

	private static TermLeadership leadership() {
		return new TermLeadership(FIXTURE.election.settings(), new FenceChecks(FIXTURE.store.fence()),
				(leadership) -> true, TERM, Instant.EPOCH);
	}

}
