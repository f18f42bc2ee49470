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

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.logging.LogType;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the demo and its page, in a real browser, on a real cluster. Each begins with
 * three nodes that run and one that leads.
 */
@EnabledIf(value = "io.leaderelection.demo.Chromium#isInstalledOrRequired",
		disabledReason = "There is no Chromium with its driver in /usr/bin or on the path")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("ring3")
class DemoPageTests {

	private static final Duration LEASE = Duration.ofSeconds(5);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(250);

	/** What a machine with other things to do may add. */
	private static final Duration MOMENT = Duration.ofSeconds(2);

	private static final String NEVER = "0 ms";

	@TempDir
	private static Path temp;

	private static DemoRun demo;

	private static DemoFacts facts;

	private static ChromeDriver driver;

	private DemoPage page;

	private int faults;

	@BeforeAll
	static void start() throws IOException {
		demo = DemoRun.start(temp, DemoRun.CLASS_PATH, "--port=0").awaitOpen();
		facts = new DemoFacts(demo);
		driver = Chromium.start(temp.resolve("chromium"));
	}

	@AfterAll
	static void stop() throws InterruptedException {
		try {
			if (driver != null) {
				driver.quit();
			}
		}
		finally {
			if (demo != null) {
				demo.close();
			}
		}
	}

	@BeforeEach
	void open() throws Exception {
		facts.recover();
		driver.get(demo.url());
		this.page = new DemoPage(driver);
		this.page.leader();
		this.faults = facts.lastFault();
	}

	@AfterEach
	void verifyNoViolationAndNoErrorOfThePage() throws Exception {
		if (!demo.process().isAlive()) {
			return;
		}
		JsonNode rows = facts.rows();
		assertThat(rows.path("duplicates").asLong(-1)).isZero();
		assertThat(rows.path("outdated").asLong(-1)).isZero();
		assertThat(rows.path("durable").path("doubles").asLong(-1)).isZero();
		assertThat(rows.path("durable").path("holes").asLong(-1)).isZero();
		assertThat(driver.manage().logs().get(LogType.BROWSER).getAll())
			.filteredOn((entry) -> !entry.getMessage().contains("net::ERR_"))
			.isEmpty();
	}

	@Test
	@Order(1)
	void killedLeaderIsReplacedAndFollowsWhenStartedAgain() throws Exception {
		String leader = this.page.leader();
		this.page.find("leader-kill").click();
		WebElement fault = this.page.awaitOutcome(this.faults + 1);
		assertThat(DemoPage.text(fault, "leader")).isNotEqualTo(leader).isEqualTo(this.page.leader());
		// Far less than a lease: the end of the session was noticed
		assertThat(DemoPage.took(fault)).isLessThan(TAKEOVER_DELAY.plus(MOMENT));
		assertSameAsTold(fault, this.faults + 1);
		assertThat(this.page.text(leader, "process")).contains("dead");
		this.page.await(DemoPage.SOON, () -> this.page.announced().contains("Two leaders at once: " + NEVER));
		assertThat(this.page.text(leader, "lease-text")).startsWith("No lease");

		this.page.button(leader, "start").click();
		this.page.await(DemoPage.LATER, () -> this.page.text(leader, "role").equals("Follower"));
		assertThat(this.page.text(leader, "process")).contains("running");
	}

	@Test
	@Order(2)
	void frozenLeaderIsReplacedWithinItsLeaseAndHasStoppedBefore() throws Exception {
		String leader = this.page.leader();
		this.page.button(leader, "freeze").click();
		this.page.await(DemoPage.SOON, () -> this.page.text(leader, "process").contains("frozen"));
		WebElement fault = this.page.awaitOutcome(this.faults + 1);
		assertThat(DemoPage.text(fault, "leader")).isNotEqualTo(leader).isEqualTo(this.page.leader());
		assertThat(DemoPage.took(fault)).isLessThan(LEASE.plus(TAKEOVER_DELAY).plus(MOMENT));
		assertThat(this.page.text(leader, "lease-text")).isEqualTo("Lease expired on the node; another node leads");
		assertThat(this.page.text(leader, "remark")).isNotEmpty();
		assertThat(demo.state().path("nodes").valueStream())
			.anyMatch((node) -> node.path("name").asString().equals(leader)
					&& node.path("leadership").path("stale").asBoolean());

		this.page.button(leader, "thaw").click();
		this.page.awaitOutcome(this.faults + 2);
		this.page.await(DemoPage.SOON, () -> this.page.text(leader, "role").equals("Follower"));
		assertSameAsTold(fault, this.faults + 1);
	}

	@Test
	@Order(3)
	void leaderThatIsCutOffStopsBeforeItIsReplaced() throws Exception {
		String leader = this.page.leader();
		this.page.find("leader-cut").click();
		this.page.await(DemoPage.SOON, () -> this.page.text(leader, "cut").contains("cut off"));
		WebElement fault = this.page.awaitOutcome(this.faults + 1);
		assertThat(DemoPage.text(fault, "leader")).isNotEqualTo(leader);
		assertThat(DemoPage.took(fault)).isLessThan(LEASE.plus(TAKEOVER_DELAY).plus(MOMENT));
		assertSameAsTold(fault, this.faults + 1);

		this.page.button(leader, "reconnect").click();
		this.page.awaitOutcome(this.faults + 2);
		this.page.await(DemoPage.LATER, () -> !this.page.text(leader, "leader").equals("\u2013"));
	}

	@Test
	@Order(4)
	void leaderHandsOverByKeyboard() throws Exception {
		String leader = this.page.leader();
		WebElement resign = this.page.button(leader, "resign");
		resign.sendKeys(Keys.ENTER);
		WebElement fault = this.page.awaitOutcome(this.faults + 1);
		assertThat(DemoPage.text(fault, "leader")).isNotEqualTo(leader);
		assertSameAsTold(fault, this.faults + 1);
		assertThat(driver.switchTo().activeElement()).isEqualTo(resign);
		assertThat(resign.getDomAttribute("aria-disabled")).isEqualTo("true");
		assertThat(demo.post("/" + leader + "/resign").statusCode()).isEqualTo(409);
		this.page.await(DemoPage.SOON, () -> this.page.text("latest").contains("Resign by " + leader));
	}

	@Test
	@Order(5)
	void showsWhatTheEndpointsReport() throws Exception {
		for (JsonNode node : facts.nodes()) {
			String name = DemoFacts.name(node);
			Awaitility.await()
				.ignoreExceptions()
				.untilAsserted(() -> assertThat(shown(name)).isEqualTo(reported(node)));
		}
		String leader = this.page.leader();
		assertThat(this.page.text("headline-term")).isEqualTo(this.page.text(leader, "term"));
		this.page.await(DemoPage.SOON,
				() -> this.page.text(leader, "lease-text").matches("Lease: [0-3]\\.\\d s remaining"));
		long before = facts.rows().path("count").asLong();
		this.page.await(DemoPage.SOON, () -> figure("rows-count") > before);
		assertThat(figure("rows-count")).isLessThanOrEqualTo(facts.rows().path("count").asLong());
		assertThat(this.page.text("rows-duplicates")).isEqualTo("0");
		assertThat(this.page.text("rows-outdated")).isEqualTo("0");
	}

	@Test
	@Order(5)
	void showsTheFiresOfTheJobsForEverySecond() throws Exception {
		long before = facts.rows().path("durable").path("count").asLong();
		this.page.await(DemoPage.SOON, () -> figure("durable-count") > before);
		assertThat(figure("durable-count")).isLessThanOrEqualTo(facts.rows().path("durable").path("count").asLong());
		assertThat(this.page.text("durable-doubles")).isEqualTo("0");
		assertThat(this.page.text("durable-holes")).isEqualTo("0");
		this.page.await(DemoPage.SOON, () -> this.page.text("fires-verdict").contains("Each second once since "));
		JsonNode plain = facts.rows().path("plain");
		this.page.await(DemoPage.SOON, () -> figure("plain-count") > plain.path("count").asLong());
		assertThat(figure("plain-doubles")).isGreaterThanOrEqualTo(plain.path("doubles").asLong());
		assertThat(figure("plain-holes")).isGreaterThanOrEqualTo(plain.path("holes").asLong());
	}

	private List<String> shown(String node) {
		String role = this.page.attribute(this.page.card(node), "data-role");
		return List.of(role, this.page.text(node, "term"), this.page.text(node, "leader"),
				this.page.text(node, "health"), this.page.text(node, "pid"));
	}

	private static List<String> reported(JsonNode node) {
		JsonNode report = DemoFacts.actuator(node, "leadership/default");
		JsonNode leader = report.path("leader");
		return List.of(report.path("role").asString(""), report.path("term").asString("\u2013"),
				leader.path("node").asString("") + " \u00b7 " + leader.path("term").asString(""),
				DemoFacts.actuator(node, "health").path("status").asString(""), "pid " + node.path("pid").asLong());
	}

	private long figure(String testId) {
		return Long.parseLong(this.page.text(testId).replace(",", ""));
	}

	@Test
	@Order(6)
	void timelineShowsWhatWasDone() throws Exception {
		demo.post("/" + this.page.leader() + "/resign");
		WebElement fault = this.page.awaitOutcome(this.faults + 1);
		fault.findElement(By.tagName("button")).click();
		assertThat(this.page.attribute(this.page.find("timeline"), "data-held")).isEqualTo("true");
		assertThat(driver.findElement(By.cssSelector(".layers")).getDomAttribute("aria-label"))
			.startsWith("Timeline of 20 seconds until ");
		assertThat(driver.switchTo().activeElement()).isEqualTo(this.page.find("timeline-pause"));
	}

	@Test
	@Order(7)
	void timelineIsAlsoATable() {
		this.page.find("timeline-as-table").click();
		String term = this.page.text("headline-term");
		this.page.await(DemoPage.SOON, () -> this.page.text("terms").contains(term));
		assertThat(this.page.text("terms")).doesNotContain("two led");
		assertThat(this.page.text("tick-counts").lines()).hasSize(3);
		assertThat(driver.findElements(By.cssSelector(".plot .tick-leader"))).isNotEmpty();
		assertThat(driver.findElements(By.cssSelector(".plot .overlap"))).isEmpty();
	}

	@Test
	@Order(8)
	void fitsAPhone() {
		driver.executeCdpCommand("Emulation.setDeviceMetricsOverride",
				Map.of("width", 360, "height", 740, "deviceScaleFactor", 1, "mobile", true));
		try {
			driver.navigate().refresh();
			this.page.leader();
			assertThat(driver.executeScript("return document.documentElement.scrollWidth")).isEqualTo(360L);
		}
		finally {
			driver.executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
		}
	}

	@Test
	@Order(9)
	void anotherNodeIsStarted() {
		this.page.find("add-node").click();
		this.page.await(DemoPage.LATER, () -> this.page.has("node-node-4"));
		this.page.await(DemoPage.LATER, () -> this.page.text("node-4", "role").equals("Follower"));
		assertThat(this.page.text("node-4", "process")).contains("running");
	}

	@Test
	@Order(Integer.MAX_VALUE)
	void leavesNothingBehindAndThePageReportsItsEnd() throws Exception {
		List<ProcessHandle> processes = demo.process().descendants().toList();
		assertThat(processes).as("PostgreSQL and three nodes").hasSizeGreaterThanOrEqualTo(4);
		JsonNode last = facts.rows();
		demo.close();
		assertThat(processes).noneMatch(ProcessHandle::isAlive);
		this.page.await(DemoPage.SOON, () -> this.page.text("lost").contains("lost"));
		assertThat(this.page.text("connection")).isEqualTo("Connection lost");
		assertThat(this.page.find("leader-kill").getDomAttribute("aria-disabled")).isEqualTo("true");
		assertThat(last.path("count").asLong()).isPositive();
	}

	/**
	 * Wait until all figures of a fault are known, which they are not at once, and
	 * compare what the page shows with what the demo reports.
	 */
	private void assertSameAsTold(WebElement fault, int id) {
		JsonNode outcome = facts.awaitOutcome(id);
		this.page.await(DemoPage.SOON,
				() -> DemoPage.text(fault, "missed").equals(outcome.path("missedTicks").asString(""))
						&& DemoPage.text(fault, "overlap").equals(NEVER));
		assertThat(DemoPage.took(fault)).isEqualTo(Duration.ofMillis(outcome.path("millis").asLong()));
		assertThat(DemoPage.text(fault, "leader")).isEqualTo(outcome.path("leader").asString(""));
		assertThat(outcome.path("overlapMillis").asLong(-1)).isZero();
	}

}
