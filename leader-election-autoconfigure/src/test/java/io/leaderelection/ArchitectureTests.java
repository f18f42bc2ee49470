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

package io.leaderelection;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the dependencies between the packages of this module, and between the types
 * of the engine.
 */
@Tag("ring1")
class ArchitectureTests {

	private static final String BASE = "io.leaderelection";

	private static final String ENGINE = BASE + ".engine";

	private static final String POSTGRESQL = BASE + ".postgresql";

	private static final String ANNOTATION = BASE + ".annotation";

	private static final String SCHEDULE = BASE + ".schedule";

	/**
	 * The packages whose public types users may name.
	 */
	private static final Set<String> API = Set.of(BASE, ANNOTATION, BASE + ".observation", SCHEDULE);

	/**
	 * The types of the engine through which a connection of the application passes.
	 */
	private static final List<String> SQL_IN_ENGINE = List.of("FenceChecks", "TermLeadership", "TransactionFence");

	/**
	 * The public types of the other packages. They are public for other packages of this
	 * module only, or because Spring Boot names them.
	 */
	private static final List<String> PUBLIC_OUTSIDE_API = List.of("actuate.LeadershipEndpoint",
			"autoconfigure.LeaderElectionAutoConfiguration", "autoconfigure.LeaderElectionDataSource",
			"autoconfigure.LeaderElectionProperties", "autoconfigure.LeadershipIntegrationAutoConfiguration",
			"autoconfigure.ResignWhenUnhealthyAutoConfiguration",
			"autoconfigure.actuate.LeadershipEndpointAutoConfiguration",
			"autoconfigure.health.LeadershipHealthContributorAutoConfiguration",
			"autoconfigure.listener.LeaderOnlyListenerRegistrar",
			"autoconfigure.metrics.LeadershipMetricsAutoConfiguration",
			"autoconfigure.observation.LeaderWorkObservationAutoConfiguration", "engine.DefaultLeaderElector",
			"engine.DefaultLeaderElectors", "engine.Election", "engine.ElectionListener", "engine.StoreSession",
			"engine.DaemonThreads", "engine.ElectionStore", "engine.ElectionSettings", "engine.ElectionStatistics",
			"engine.ElectionStatus", "engine.ElectionTimings", "engine.FenceChecks", "engine.InvocationCounts",
			"engine.LocalStore", "engine.ManualStore", "engine.Platform", "engine.ResignationAnswer",
			"engine.SerialWorker", "engine.SessionException", "engine.SessionNames", "engine.TransactionFence",
			"engine.Transition", "engine.UnusableStoreException", "engine.Work", "engine.WorkGate",
			"engine.WorkObservation", "engine.WorkObserver", "engine.NodeProfile", "postgresql.Profiles",
			"health.HealthWatch", "health.LeadershipHealthIndicator", "integration.RoleEventPublisher",
			"metrics.LeadershipMetrics", "metrics.ScheduleMetrics", "postgresql.ConnectionSource",
			"postgresql.ElectionKeys", "postgresql.LeaseTable", "postgresql.AdvisoryLockStore",
			"postgresql.ServerInspection", "lifecycle.LeaderService", "lifecycle.LeaderServices",
			"lifecycle.LeadershipParticipant", "lifecycle.LeadershipSequence", "lifecycle.ListenerContainer",
			"lifecycle.StartPolicy", "transaction.Coverage", "transaction.TransactionFencing");

	private static final JavaClasses classes = new ClassFileImporter().importPath(Path.of("target", "classes"));

	@Test
	void engineAndPostgresqlDoNotDependOnSpring() {
		ArchRuleDefinition.noClasses()
			.that()
			.resideInAnyPackage(ENGINE + "..", POSTGRESQL + "..")
			.should()
			.dependOnClassesThat()
			.resideInAnyPackage("org.springframework..")
			.check(classes);
	}

	@Test
	void engineDependsOnJdbcOnlyWhereItFencesTransactions() {
		assertThat(engine().stream()
			.filter(ArchitectureTests::dependsOnJdbc)
			.map(ArchitectureTests::topLevel)
			.map(JavaClass::getSimpleName)
			.distinct()).isSubsetOf(SQL_IN_ENGINE);
	}

	/**
	 * Durable schedules are optional, so the guard must not know them.
	 */
	@Test
	void guardDoesNotDependOnSchedules() {
		Map<String, Set<String>> graph = graph(classes, JavaClass::getPackageName);
		assertThat(reachableFrom(ANNOTATION, graph)).contains(ENGINE).doesNotContain(SCHEDULE);
		assertThat(graph.get(SCHEDULE)).contains(ANNOTATION);
	}

	@Test
	void packagesHaveNoCycles() {
		Map<String, Set<String>> graph = graph(classes, JavaClass::getPackageName);
		assertThat(graph).containsKey(ENGINE).containsKey(BASE);
		assertThat(components(graph)).filteredOn((component) -> component.size() > 1).isEmpty();
	}

	@Test
	void typesOfTheEngineHaveNoCycleOfMoreThanTwo() {
		Map<String, Set<String>> graph = graph(engine(), (type) -> topLevel(type).getSimpleName());
		assertThat(graph).containsKey("Election");
		assertThat(components(graph)).filteredOn((component) -> component.size() > 2).isEmpty();
	}

	@Test
	void publicTypesOutsideTheApiAreKnown() {
		assertThat(classes.stream()
			.filter((type) -> type.getModifiers().contains(JavaModifier.PUBLIC) && type.isTopLevelClass())
			.filter((type) -> !API.contains(type.getPackageName()))
			.map((type) -> type.getName().substring(BASE.length() + 1)))
			.containsExactlyInAnyOrderElementsOf(PUBLIC_OUTSIDE_API);
	}

	private static List<JavaClass> engine() {
		return classes.stream().filter((type) -> type.getPackageName().equals(ENGINE)).toList();
	}

	private static boolean dependsOnJdbc(JavaClass type) {
		return type.getDirectDependenciesFromSelf()
			.stream()
			.map((dependency) -> dependency.getTargetClass().getBaseComponentType().getPackageName())
			.anyMatch((name) -> name.startsWith("java.sql") || name.startsWith("javax.sql"));
	}

	private static JavaClass topLevel(JavaClass type) {
		return type.getEnclosingClass().map(ArchitectureTests::topLevel).orElse(type);
	}

	/**
	 * Return which groups of the types depend on which others of these groups.
	 */
	private static Map<String, Set<String>> graph(Iterable<JavaClass> types, Function<JavaClass, String> group) {
		Map<String, Set<String>> graph = new TreeMap<>();
		types.forEach((type) -> graph.put(group.apply(type), new TreeSet<>()));
		for (JavaClass type : types) {
			for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
				JavaClass target = dependency.getTargetClass().getBaseComponentType();
				if (target.getPackageName().startsWith(BASE) && graph.containsKey(group.apply(target))) {
					graph.get(group.apply(type)).add(group.apply(target));
				}
			}
		}
		return graph;
	}

	/**
	 * Return the strongly connected components of a graph: the sets of nodes that reach
	 * each other.
	 */
	private static Set<Set<String>> components(Map<String, Set<String>> graph) {
		Map<String, Set<String>> reachable = new TreeMap<>();
		graph.keySet().forEach((node) -> reachable.put(node, reachableFrom(node, graph)));
		return graph.keySet()
			.stream()
			.map((node) -> reachable.get(node)
				.stream()
				.filter((other) -> reachable.get(other).contains(node))
				.collect(Collectors.toCollection(TreeSet::new)))
			.collect(Collectors.toSet());
	}

	private static Set<String> reachableFrom(String node, Map<String, Set<String>> graph) {
		Set<String> reached = new TreeSet<>(Set.of(node));
		List<String> open = new ArrayList<>(reached);
		while (!open.isEmpty()) {
			for (String next : graph.get(open.remove(open.size() - 1))) {
				if (reached.add(next)) {
					open.add(next);
				}
			}
		}
		return reached;
	}

}
