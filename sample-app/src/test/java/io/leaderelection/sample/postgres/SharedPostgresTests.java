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

package io.leaderelection.sample.postgres;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link SharedPostgres} and {@link SharedPostgresServer}, on real processes.
 */
@Tag("ring1")
class SharedPostgresTests {

	private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(2);

	private static final Duration NEVER_IDLE = Duration.ofMinutes(1);

	private final List<Node> nodes = new ArrayList<>();

	private final List<Connection> sessions = new ArrayList<>();

	private final Set<Long> owners = new HashSet<>();

	private final Set<Long> postgres = new HashSet<>();

	@TempDir
	private Path temp;

	private ServerDirectory directory;

	@BeforeEach
	void createDirectory() throws IOException {
		this.directory = ServerDirectory.of(this.temp.resolve("shared"));
	}

	@AfterEach
	void leaveNothingBehind() throws Exception {
		for (Connection session : this.sessions) {
			session.close();
		}
		this.nodes.forEach(Node::kill);
		ServerState state = this.directory.readState();
		if (state != null) {
			remember(state);
		}
		// A process that owns a PostgreSQL stops it before it ends.
		end(this.owners, ProcessHandle::destroy);
		end(this.postgres, ProcessHandle::destroyForcibly);
	}

	@Test
	@Tag("ring3")
	void nodesThatStartAtOnceShareOneServer() throws Exception {
		List<Node> starting = List.of(startNode(NEVER_IDLE), startNode(NEVER_IDLE), startNode(NEVER_IDLE));
		Set<String> urls = new HashSet<>();
		for (Node node : starting) {
			urls.add(node.awaitJoined());
		}
		assertThat(urls).containsExactly(state().url());
		assertThat(starting.stream().flatMap((node) -> node.process.toHandle().children()))
			.extracting(ProcessHandle::pid)
			.containsExactly(state().pid());
		assertThat(Files.readString(this.directory.log())).containsOnlyOnce("PostgreSQL is ready at");
	}

	@Test
	@Tag("ring2")
	void serverSurvivesKillOfTheNodeThatStartedIt() throws Exception {
		Node first = startNode(IDLE_TIMEOUT);
		String url = first.awaitJoined();
		ServerState state = state();
		Connection session = join(IDLE_TIMEOUT).connection();
		first.kill();
		try (Statement statement = session.createStatement(); ResultSet result = statement.executeQuery("select 1")) {
			assertThat(result.next()).isTrue();
		}
		assertThat(startNode(IDLE_TIMEOUT).awaitJoined()).isEqualTo(url);
		assertThat(state()).isEqualTo(state);
		assertThat(isAlive(state.pid())).isTrue();
	}

	@Test
	@Tag("ring2")
	void serverEndsWhenNoSessionOfANodeIsLeft() throws Exception {
		SharedPostgres.Session first = join(IDLE_TIMEOUT);
		ServerState state = state();
		SharedPostgres.Session second = join(IDLE_TIMEOUT);
		first.connection().close();
		await().during(IDLE_TIMEOUT.multipliedBy(2))
			.atMost(IDLE_TIMEOUT.multipliedBy(4))
			.until(() -> isAlive(state.pid()) && isAlive(state.postgresPid()));
		second.connection().close();
		eventually().until(() -> !isAlive(state.pid()) && !isAlive(state.postgresPid()));
		assertThat(this.directory.readState()).isNull();
		assertThat(this.directory.data()).doesNotExist();
		assertThat(this.directory.passwordFile()).doesNotExist();
		// The embedded server connects while the server is starting up
		assertThat(this.directory.log()).content()
			.contains("No session of a node for 2 s")
			.doesNotContainPattern("FATAL: +(?!the database system is starting up)");
	}

	@Test
	@Tag("ring3")
	void stateFileOfAServerThatIsGoneIsReplaced() throws Exception {
		join(NEVER_IDLE);
		ServerState gone = state();
		kill(gone.pid());
		kill(gone.postgresPid());
		assertThat(this.directory.readState()).isEqualTo(gone);
		assertThat(this.directory.data()).exists();
		join(NEVER_IDLE);
		assertThat(state().pid()).isNotEqualTo(gone.pid());
		assertThat(state().postgresPid()).isNotEqualTo(gone.postgresPid());
		assertThat(state().password()).isNotEqualTo(gone.password());
	}

	@Test
	void unreadableStateFileIsAsGoodAsNone() throws Exception {
		Path file = this.directory.path().resolve("server.properties");
		assertThat(this.directory.readState()).isNull();
		Files.writeString(file, "port=many");
		assertThat(this.directory.readState()).isNull();
		Files.writeString(file, "");
		assertThat(this.directory.readState()).isNull();
		ServerState state = new ServerState(5432, "secret", 1, 2);
		this.directory.writeState(state);
		assertThat(this.directory.readState()).isEqualTo(state);
		Files.delete(file);
		assertThat(this.directory.path()).isEmptyDirectory();
	}

	@Test
	@Tag("ring3")
	void serverWhosePostgresWasKilledIsReplaced() throws Exception {
		join(NEVER_IDLE);
		ServerState gone = state();
		kill(gone.postgresPid());
		join(NEVER_IDLE);
		assertThat(state().pid()).isNotEqualTo(gone.pid());
		eventually().until(() -> !isAlive(gone.pid()));
	}

	@Test
	@Tag("ring3")
	void postgresWhoseOwnerWasKilledIsTakenOver() throws Exception {
		SharedPostgres.Session first = join(IDLE_TIMEOUT);
		ServerState orphaned = state();
		kill(orphaned.pid());
		SharedPostgres.Session second = join(IDLE_TIMEOUT);
		assertThat(second.url()).isEqualTo(first.url());
		eventually().until(() -> state().pid() != orphaned.pid());
		ServerState state = state();
		assertThat(state.postgresPid()).isEqualTo(orphaned.postgresPid());
		assertThat(first.connection().isValid(1)).isTrue();
		first.connection().close();
		second.connection().close();
		eventually().until(() -> !isAlive(state.pid()) && !isAlive(state.postgresPid()));
		assertThat(this.directory.data()).doesNotExist();
	}

	@Test
	@Tag("ring3")
	@DisabledOnOs(OS.WINDOWS)
	void postgresThatDoesNotAnswerIsRemoved() throws Exception {
		join(NEVER_IDLE);
		ServerState frozen = state();
		kill(frozen.pid());
		signal("STOP", frozen.postgresPid());
		join(NEVER_IDLE);
		assertThat(isAlive(frozen.postgresPid())).isFalse();
		assertThat(state().postgresPid()).isNotEqualTo(frozen.postgresPid());
	}

	@Test
	@Tag("ring2")
	@EnabledOnOs(OS.LINUX)
	void serverIsForItsUserOnlyAndApartFromTheTerminalOfItsNode() throws Exception {
		join(NEVER_IDLE);
		String own = terminalSession(ProcessHandle.current().pid());
		assertThat(terminalSession(state().pid())).isNotEqualTo(own);
		assertThat(terminalSession(state().postgresPid())).isNotEqualTo(own);
		assertThat(Files.getPosixFilePermissions(this.directory.path()))
			.isEqualTo(PosixFilePermissions.fromString("rwx------"));
		try (Connection connection = state().connect(ServerState.ADMIN);
				Statement statement = connection.createStatement();
				ResultSet result = statement.executeQuery(
						"select current_setting('listen_addresses'), " + "current_setting('unix_socket_directories'), "
								+ "(select string_agg(distinct auth_method, ',') from pg_hba_file_rules)")) {
			result.next();
			assertThat(result.getString(1)).isEqualTo("localhost");
			assertThat(result.getString(2)).isEmpty();
			assertThat(result.getString(3)).isEqualTo("scram-sha-256");
		}
	}

	@Test
	void saysWhereTheLogIsWhenTheServerDoesNotComeUp() throws Exception {
		Files.writeString(this.directory.log(), "The last word of PostgreSQL");
		try (FileChannel owner = this.directory.lockForOwning(Duration.ZERO)) {
			SharedPostgres postgres = new SharedPostgres(this.directory, IDLE_TIMEOUT, Duration.ofSeconds(1));
			assertThatExceptionOfType(SharedPostgresException.class).isThrownBy(postgres::join)
				.withMessageContaining("did not come up within 1 s")
				.withMessageContaining(this.directory.log().toString())
				.satisfies((ex) -> {
					FailureAnalysis analysis = new SharedPostgresFailureAnalyzer().analyze(ex);
					assertThat(analysis.getDescription()).contains("The last word of PostgreSQL");
					assertThat(analysis.getAction()).contains("spring.datasource.url");
				});
			assertThat(owner).isNotNull();
		}
	}

	@Test
	void saysWhereTheLogIsWhenTheProcessEnds() throws Exception {
		// Where the data directory belongs is a file that cannot be one.
		Files.createDirectories(this.directory.path().resolve("password/in-the-way"));
		assertThatExceptionOfType(SharedPostgresException.class)
			.isThrownBy(() -> new SharedPostgres(this.directory, IDLE_TIMEOUT).join())
			.withMessageContaining("ended with exit code 1")
			.withMessageContaining(this.directory.log().toString())
			.satisfies((ex) -> assertThat(ex.getLogTail()).contains("DirectoryNotEmptyException"));
	}

	@Test
	void configuredUrlWins() throws Exception {
		try (ConfigurableApplicationContext context = run("--spring.datasource.url=jdbc:postgresql://db.example/own")) {
			assertThat(context.getEnvironment().getProperty("spring.datasource.url"))
				.isEqualTo("jdbc:postgresql://db.example/own");
			assertThat(context.getEnvironment().getProperty("spring.datasource.username")).isNull();
			assertThat(this.directory.path()).isEmptyDirectory();
		}
	}

	@Test
	void withoutUrlTheServerIsUsedAndHeldUntilTheApplicationIsReady() throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			assertThat(context.getEnvironment().getProperty("spring.datasource.url")).isEqualTo(state().url());
			assertThat(context.getEnvironment().getProperty("spring.datasource.username")).isEqualTo("sample");
			ServerState state = state();
			// This application opens no session of its own.
			eventually().until(() -> !isAlive(state.pid()) && !isAlive(state.postgresPid()));
		}
	}

	private ConfigurableApplicationContext run(String... args) {
		List<String> all = new ArrayList<>(List.of(args));
		all.add("--sample.postgres.directory=" + this.directory.path());
		all.add("--sample.postgres.idle-timeout=" + IDLE_TIMEOUT.toMillis());
		return new SpringApplicationBuilder(Empty.class).web(WebApplicationType.NONE).run(all.toArray(String[]::new));
	}

	private SharedPostgres.Session join(Duration idleTimeout) throws Exception {
		SharedPostgres.Session session = new SharedPostgres(this.directory, idleTimeout).join();
		this.sessions.add(session.connection());
		remember(state());
		return session;
	}

	private Node startNode(Duration idleTimeout) throws IOException {
		Node node = new Node(this.directory, idleTimeout);
		this.nodes.add(node);
		return node;
	}

	private ServerState state() throws IOException {
		ServerState state = this.directory.readState();
		assertThat(state).isNotNull();
		return state;
	}

	private void remember(ServerState state) {
		this.owners.add(state.pid());
		this.postgres.add(state.postgresPid());
	}

	private static void end(Set<Long> pids, Consumer<ProcessHandle> how) {
		pids.forEach((pid) -> ProcessHandle.of(pid).ifPresent(how));
		eventually().until(() -> pids.stream().noneMatch(SharedPostgresTests::isAlive));
	}

	private static ConditionFactory eventually() {
		return await().atMost(Duration.ofSeconds(30));
	}

	private static boolean isAlive(long pid) {
		return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isPresent();
	}

	private static void kill(long pid) {
		ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
		eventually().until(() -> !isAlive(pid));
	}

	private static void signal(String signal, long pid) throws Exception {
		Process process = new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).start();
		assertThat(process.waitFor()).isZero();
	}

	/**
	 * The sixth field of the file, counted behind the command that may contain spaces.
	 */
	private static String terminalSession(long pid) throws IOException {
		String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
		return stat.substring(stat.lastIndexOf(')') + 2).split(" ")[3];
	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	static class Empty {

	}

	/**
	 * What a node does with the shared server, in a JVM that can be killed.
	 */
	public static final class Node {

		private final Process process;

		private Node(ServerDirectory directory, Duration idleTimeout) throws IOException {
			this.process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
					"-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Node.class.getName(),
					directory.path().toString(), idleTimeout.toString())
				.redirectError(ProcessBuilder.Redirect.INHERIT)
				.start();
		}

		public static void main(String[] args) throws Exception {
			SharedPostgres postgres = new SharedPostgres(ServerDirectory.of(Path.of(args[0])), Duration.parse(args[1]));
			SharedPostgres.Session session = postgres.join();
			System.out.println("Joined " + session.url());
			// Until the test ends
			System.in.read();
		}

		private String awaitJoined() throws IOException {
			BufferedReader reader = new BufferedReader(
					new InputStreamReader(this.process.getInputStream(), StandardCharsets.UTF_8));
			return reader.lines()
				.filter((line) -> line.startsWith("Joined "))
				.map((line) -> line.substring("Joined ".length()))
				.findFirst()
				.orElseThrow();
		}

		private void kill() {
			this.process.destroyForcibly();
			try {
				assertThat(this.process.waitFor(10, TimeUnit.SECONDS)).isTrue();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

}
