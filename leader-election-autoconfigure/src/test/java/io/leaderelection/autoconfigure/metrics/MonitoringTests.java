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

package io.leaderelection.autoconfigure.metrics;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.metrics.PromQl.Selector;
import io.leaderelection.schedule.DurableSchedule;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Tests for what is in the folder {@code monitoring} and in the document on metrics,
 * against what an application exports.
 */
@Tag("ring1")
class MonitoringTests {

	private static final Path ROOT = Path.of("..");

	private static final Path MONITORING = ROOT.resolve("monitoring");

	private static final Path PROMTOOL = Path.of("/usr/bin/promtool");

	private static final Pattern FIRING = Pattern.compile("alertname=\"(\\w+)\"");

	private static final Pattern MOUNTED = Pattern.compile("\\./([\\w.-]+):");

	private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.+), (\\w+)\\)");

	private static final Pattern TEMPLATE_LABEL = Pattern.compile("\\{\\{ *(?:\\$labels\\.)?(\\w+) *}}");

	private static final Pattern DOCUMENTED = Pattern.compile("`(leader_election_\\w+)`");

	private static PrometheusScrape scrape;

	@BeforeAll
	static void scrape() {
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withBean(Jobs.class)
			.withPropertyValues("leader-election.mode=always", "leader-election.spread=true")
			.run((context) -> {
				context.getBean(Jobs.class).job();
				scrape = new PrometheusScrape(context.getBean(PrometheusMeterRegistry.class).scrape());
			});
	}

	@ParameterizedTest
	@MethodSource
	void alertRuleAsksForWhatIsExported(AlertRule rule) throws IOException {
		PromQl expression = PromQl.parse(rule.expression());
		assertThat(scrape.missing(expression)).isEmpty();
		assertThat(rule.annotations()).containsOnlyKeys("summary", "description", "runbook_url");
		assertThat(Files.readString(ROOT.resolve("docs/operations/troubleshooting.md")))
			.contains("<a id=\"%s\"></a>".formatted(rule.alert()));
		assertThat(rule.annotations().get("runbook_url")).endsWith("troubleshooting.md#" + rule.alert());
		assertThat(rule.labels()).containsOnlyKeys("severity");
		labels(String.join(" ", rule.annotations().values()))
			.forEach((label) -> assertThat(scrape.hasLabel(expression, label)).as(label).isTrue());
	}

	static Stream<AlertRule> alertRuleAsksForWhatIsExported() throws IOException {
		return rules("prometheus-alerts.yaml");
	}

	@Test
	void alertRuleOfTheTablesAsksForWhatTheExporterOfPostgreSqlHas() throws IOException {
		assertThat(rules("postgresql-alerts.yaml")).singleElement().satisfies((rule) -> {
			assertThat(rule.alert()).isEqualTo("LeaderElectionDeadRows");
			assertThat(scrape.missing(PromQl.parse(rule.expression())))
				.allMatch((missing) -> missing.toString().contains("pg_stat_user_tables_n_dead_tup"));
		});
	}

	private static Stream<AlertRule> rules(String file) throws IOException {
		return AlertRule.of(yaml(file)).stream();
	}

	@Test
	void alertsHaveNamesOfTheirOwn() throws IOException {
		assertThat(alertRuleAsksForWhatIsExported().map(AlertRule::alert)).doesNotHaveDuplicates()
			.contains("LeaderElectionNoLeader", "LeaderElectionScheduleFailed", "LeaderElectionScheduleMissed")
			.allMatch((name) -> name.startsWith("LeaderElection"));
	}

	@Test
	void everyAlertFiresInATestOfTheRules() throws IOException {
		Set<String> fire = FIRING.matcher(yaml("prometheus-alerts-tests.yaml").toString())
			.results()
			.map((result) -> result.group(1))
			.collect(Collectors.toSet());
		assertThat(
				Stream.concat(rules("prometheus-alerts.yaml"), rules("postgresql-alerts.yaml")).map(AlertRule::alert))
			.containsExactlyInAnyOrderElementsOf(fire);
	}

	@ParameterizedTest
	@ValueSource(strings = { "test rules prometheus-alerts-tests.yaml", "check config prometheus.yaml" })
	void promtoolAccepts(String arguments) throws Exception {
		assumeThat(PROMTOOL).exists();
		List<String> command = new ArrayList<>(List.of(arguments.split(" ")));
		command.add(0, PROMTOOL.toString());
		Process process = new ProcessBuilder(command).directory(MONITORING.toFile()).redirectErrorStream(true).start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		assertThat(process.waitFor()).as(output).isZero();
	}

	@Test
	void filesOfTheComposeFileExist() throws IOException {
		assertThat(yaml("compose.yaml").toString()).contains("./prometheus.yaml:", "./prometheus-alerts.yaml:",
				"./grafana-dashboard.json:");
		assertThat(MOUNTED.matcher(yaml("compose.yaml").toString()).results().map((result) -> result.group(1)))
			.allSatisfy((file) -> assertThat(MONITORING.resolve(file)).isRegularFile());
	}

	@ParameterizedTest
	@MethodSource
	void panelAsksForWhatIsExported(PanelQuery query) {
		PromQl expression = PromQl.parse(query.expression());
		assertThat(scrape.missing(expression)).isEmpty();
		labels(query.legend()).forEach((label) -> assertThat(scrape.hasLabel(expression, label)).as(label).isTrue());
	}

	static Stream<PanelQuery> panelAsksForWhatIsExported() throws IOException {
		List<PanelQuery> queries = new ArrayList<>();
		for (JsonNode panel : dashboard().get("panels")) {
			for (JsonNode target : panel.get("targets")) {
				queries.add(new PanelQuery(panel.get("title").asString(), target.get("expr").asString(),
						target.get("legendFormat").asString()));
			}
		}
		return queries.stream();
	}

	@Test
	void variablesOfTheDashboardAreOfWhatIsExported() throws IOException {
		List<String> names = new ArrayList<>();
		for (JsonNode variable : dashboard().get("templating").get("list")) {
			names.add(variable.get("name").asString());
			if (variable.get("type").asString().equals("query")) {
				String query = variable.get("query").get("query").asString();
				assertThat(query).matches(LABEL_VALUES);
				PromQl series = PromQl.parse(LABEL_VALUES.matcher(query).replaceFirst("$1"));
				assertThat(scrape.missing(series)).isEmpty();
				assertThat(scrape.hasLabel(series, LABEL_VALUES.matcher(query).replaceFirst("$2"))).isTrue();
			}
		}
		assertThat(names).containsExactly("datasource", "job", "group", "election");
	}

	@Test
	void dashboardShowsEverythingThatIsExported() throws IOException {
		Set<String> shown = panelAsksForWhatIsExported().map((query) -> PromQl.parse(query.expression()))
			.flatMap((expression) -> expression.selectors().stream())
			.map(Selector::metric)
			.collect(Collectors.toSet());
		assertThat(shown).isEqualTo(scrape.metrics());
	}

	@Test
	void panelsOfTheDashboardDoNotOverlap() throws IOException {
		Set<String> cells = new HashSet<>();
		for (JsonNode panel : dashboard().get("panels")) {
			JsonNode position = panel.get("gridPos");
			assertThat(position.get("x").asInt() + position.get("w").asInt()).isLessThanOrEqualTo(24);
			for (int x = 0; x < position.get("w").asInt(); x++) {
				for (int y = 0; y < position.get("h").asInt(); y++) {
					String cell = (position.get("x").asInt() + x) + "," + (position.get("y").asInt() + y);
					assertThat(cells.add(cell)).as(panel.get("title").asString() + " at " + cell).isTrue();
				}
			}
		}
	}

	@Test
	void documentListsEverythingThatIsExportedAndNothingElse() throws IOException {
		Set<String> documented = DOCUMENTED
			.matcher(Files.readString(ROOT.resolve("docs/reference/metrics-and-alerts.md")))
			.results()
			.map((result) -> result.group(1))
			.collect(Collectors.toSet());
		Set<String> exported = scrape.metrics()
			.stream()
			.map((name) -> name.replaceFirst("_seconds_(count|sum|max)$", "_seconds"))
			.collect(Collectors.toSet());
		assertThat(documented).isEqualTo(exported);
	}

	@Test
	void checkFindsWhatIsNotExported() {
		assertThat(scrape.missing(PromQl.parse("sum by (node) (leader_election_leader) + leader_election_lead"
				+ " + leader_election_transitions_total{kind=~\"granted|lost\"}")))
			.containsExactly("leader_election_leader by node", "leader_election_lead",
					"leader_election_transitions_total{kind=lost}", "leader_election_transitions_total by node");
	}

	private static List<String> labels(String template) {
		return TEMPLATE_LABEL.matcher(template).results().map((MatchResult result) -> result.group(1)).toList();
	}

	private static <T> Map<String, T> yaml(String file) throws IOException {
		try (Reader reader = Files.newBufferedReader(MONITORING.resolve(file))) {
			return new Yaml(new SafeConstructor(new LoaderOptions())).load(reader);
		}
	}

	private static JsonNode dashboard() throws IOException {
		return JsonMapper.shared().readTree(Files.readString(MONITORING.resolve("grafana-dashboard.json")));
	}

	record AlertRule(String alert, String expression, Map<String, String> labels, Map<String, String> annotations) {

		@SuppressWarnings("unchecked")
		static List<AlertRule> of(Map<String, List<Map<String, Object>>> file) {
			assertThat(file).containsOnlyKeys("groups");
			return file.get("groups")
				.stream()
				.flatMap((group) -> ((List<Map<String, Object>>) group.get("rules")).stream())
				.map((rule) -> new AlertRule((String) rule.get("alert"), (String) rule.get("expr"),
						(Map<String, String>) rule.get("labels"), (Map<String, String>) rule.get("annotations")))
				.toList();
		}

	}

	record PanelQuery(String panel, String expression, String legend) {
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
	static class Application {

	}

	static class Jobs {

		@LeaderOnly
		void job() {
		}

		@LeaderOnly
		@DurableSchedule(name = "report")
		@Scheduled(cron = "0 0 2 * * *")
		void report() {
		}

	}

}
