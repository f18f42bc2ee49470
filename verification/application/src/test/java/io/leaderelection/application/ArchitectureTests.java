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

package io.leaderelection.application;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the dependencies between the modules of the library, between their packages,
 * and between the types of the engine.
 */
@Tag("ring1")
class ArchitectureTests {

	static final String BASE = "io.leaderelection";

	private static final String ENGINE = BASE + ".engine";

	private static final Pattern MODULE = Pattern
		.compile("/leader-election-([a-z]+)/target/|/leader-election-([a-z]+)-[^/]*\\.jar!");

	/**
	 * The modules on which each module may depend.
	 */
	private static final Map<String, Set<String>> MODULES = Map.of("core", Set.of(), "postgresql", Set.of("core"),
			"spring", Set.of("core"), "schedule", Set.of("spring", "core"), "autoconfigure",
			Set.of("schedule", "spring", "postgresql", "core"), "test",
			Set.of("autoconfigure", "schedule", "spring", "core"));

	/**
	 * The packages whose public types users may name.
	 */
	private static final Set<String> API = Set.of(BASE, BASE + ".observation", BASE + ".test");

	/**
	 * The types of other packages that users may name.
	 */
	private static final Set<String> API_TYPES = Set.of("annotation.InvalidUsageException", "annotation.LeaderOnly",
			"autoconfigure.LeaderElectionConnectionDetails", "autoconfigure.LeaderElectionDataSource", "schedule.Claim",
			"schedule.DurableSchedule", "schedule.FireEndedEvent", "schedule.FireTime", "schedule.MisfirePolicy");

	/**
	 * The types of the engine through which a connection of the application passes.
	 */
	private static final List<String> SQL_IN_ENGINE = List.of("DefaultLeaderElector", "FenceChecks", "TermLeadership",
			"TransactionFence");

	/**
	 * The types outside the API that Spring Boot finds by name, or an application by
	 * type.
	 */
	private static final Set<String> NAMED = Set.of("autoconfigure.schedule.DurableScheduleAutoConfiguration",
			"autoconfigure.LeaderElectionAutoConfiguration", "autoconfigure.LeaderElectionProperties",
			"autoconfigure.actuate.LeadershipEndpoint", "autoconfigure.actuate.LeadershipEndpointAutoConfiguration",
			"autoconfigure.actuate.LeadershipInfoContributorAutoConfiguration",
			"autoconfigure.health.LeadershipHealthContributorAutoConfiguration",
			"autoconfigure.health.LeadershipHealthIndicator",
			"autoconfigure.health.ResignWhenUnhealthyAutoConfiguration",
			"autoconfigure.integration.LeadershipIntegrationAutoConfiguration",
			"autoconfigure.metrics.LeadershipMetricsAutoConfiguration",
			"autoconfigure.observation.LeaderWorkObservationAutoConfiguration");

	/**
	 * The public types outside the API that other modules use.
	 */
	private static final Set<String> USED = Set.of("annotation.LeaderOnlyBeanPostProcessor",
			"annotation.LeaderServiceBeanPostProcessor", "annotation.WorkAdvisor", "engine.DefaultLeaderElector",
			"engine.DefaultLeaderElectors", "engine.ElectionSettings", "engine.ElectionStatistics",
			"engine.ElectionStatus", "engine.ElectionStore", "engine.ElectionTimings", "engine.Interruption",
			"engine.InvocationCounts", "engine.LocalStore", "engine.LogContext", "engine.NodeProfile",
			"engine.Platform", "engine.ResignationAnswer", "engine.SerialWorker", "engine.SessionException",
			"engine.SessionNames", "engine.StoreSession", "engine.TransactionFence", "engine.Transition",
			"engine.UnusableStoreException", "engine.Work", "engine.WorkGate", "engine.WorkObserver",
			"lifecycle.LeaderServices", "lifecycle.LeadershipSequence", "postgresql.advisory.AdvisoryLockStore",
			"postgresql.ConnectionSource", "postgresql.ElectionKeys", "postgresql.table.LeaseTable",
			"postgresql.advisory.SessionSockets", "schedule.DurableJob", "schedule.DurableSchedules",
			"schedule.ScheduleStore", "spread.ElectionSpread", "transaction.TransactionFencing");

	/**
	 * The public types outside the API that only another package of their module uses, or
	 * the command, which is not on this class path.
	 */
	private static final Set<String> OTHERS = Set.of("autoconfigure.listener.LeaderOnlyListenerRegistrar",
			"lifecycle.LeaderService", "lifecycle.ListenerContainer", "postgresql.ConnectionFailures",
			"postgresql.DatabaseIdentity", "postgresql.Jdbc", "postgresql.LeaseTableShape", "postgresql.Profiles",
			"postgresql.ServerInspection");

	static final JavaClasses classes = new ClassFileImporter().withImportOption(ArchitectureTests::isLibrary)
		.importPackages(BASE);

	private static boolean isLibrary(Location location) {
		return MODULE.matcher(location.toString()).find() && !location.contains("/test-classes/")
				&& !location.contains("/testsupport/") && !location.contains("/sample/");
	}

	@Test
	void modulesDependOnLowerModulesOnly() {
		Map<String, Set<String>> graph = graph(classes, ArchitectureTests::module);
		assertThat(graph).containsOnlyKeys(MODULES.keySet()).allSatisfy((module, others) -> {
			others.remove(module);
			assertThat(MODULES.get(module)).containsAll(others);
		});
		assertThat(graph.get("autoconfigure")).as("not empty").hasSize(4);
	}

	@Test
	void coreAndStoresDependOnNoFramework() {
		ArchRuleDefinition.classes()
			.that(DescribedPredicate.describe("are of the core or a store",
					(type) -> Set.of("core", "postgresql").contains(module(type))))
			.should()
			.onlyDependOnClassesThat()
			.resideInAnyPackage(BASE + "..", "java..", "javax..", "org.apache.commons.logging..",
					"org.jspecify.annotations..", "org.postgresql..")
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

	@Test
	void packagesBelongToOneModule() {
		Map<String, Set<String>> modules = new TreeMap<>();
		classes.forEach(
				(type) -> modules.computeIfAbsent(type.getPackageName(), (name) -> new TreeSet<>()).add(module(type)));
		assertThat(modules).containsKey(ENGINE).allSatisfy((name, found) -> assertThat(found).hasSize(1));
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
	void publicTypesOutsideTheApiAreUsedByAnotherModule() {
		Map<Boolean, Set<String>> types = classes.stream()
			.filter(ArchitectureTests::isPublic)
			.filter((type) -> !isApi(type) && !NAMED.contains(name(type)))
			.collect(Collectors.partitioningBy(ArchitectureTests::isUsedByAnotherModule,
					Collectors.mapping(ArchitectureTests::name, Collectors.toSet())));
		assertThat(types.get(true)).isEqualTo(USED);
		assertThat(types.get(false)).isEqualTo(OTHERS);
	}

	static boolean isApi(JavaClass type) {
		return isPublic(type) && (API.contains(type.getPackageName()) || API_TYPES.contains(name(type)));
	}

	/**
	 * Return the packages and the single types of the API.
	 */
	static Set<String> apiNames() {
		return Stream.concat(API.stream(), API_TYPES.stream().map((name) -> BASE + "." + name))
			.collect(Collectors.toSet());
	}

	private static boolean isPublic(JavaClass type) {
		return type.getModifiers().contains(JavaModifier.PUBLIC) && type.isTopLevelClass();
	}

	private static String name(JavaClass type) {
		return type.getName().substring(BASE.length() + 1);
	}

	private static boolean isUsedByAnotherModule(JavaClass type) {
		return type.getDirectDependenciesToSelf()
			.stream()
			.anyMatch((dependency) -> !module(dependency.getOriginClass()).equals(module(type)));
	}

	static String module(JavaClass type) {
		Matcher matcher = MODULE.matcher(type.getSource().orElseThrow().getUri().toString());
		assertThat(matcher.find()).as(type.getName()).isTrue();
		return (matcher.group(1) != null) ? matcher.group(1) : matcher.group(2);
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
				if (target.getSource().isPresent() && target.getPackageName().startsWith(BASE)
						&& graph.containsKey(group.apply(target))) {
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
