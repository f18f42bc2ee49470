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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.By;
import org.openqa.selenium.chrome.ChromeDriver;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the page of the demo with states that are rare or must never occur, in a real
 * browser.
 */
@EnabledIf(value = "io.leaderelection.demo.Chromium#isInstalledOrRequired",
		disabledReason = "There is no Chromium with its driver in /usr/bin or on the path")
@Tag("ring2")
class DemoPageStatesTests {

	@TempDir
	private static Path temp;

	private static ScriptedDemo demo;

	private static ChromeDriver driver;

	private final DemoPage page = new DemoPage(driver);

	private final long now = System.currentTimeMillis();

	@BeforeAll
	static void start() throws IOException {
		demo = new ScriptedDemo();
		driver = Chromium.start(temp.resolve("chromium"));
	}

	@AfterAll
	static void stop() {
		try {
			if (driver != null) {
				driver.quit();
			}
		}
		finally {
			demo.close();
		}
	}

	private void open(Map<String, Object> state) {
		demo.show(state);
		driver.get(demo.url());
		this.page.find("timeline-as-table").click();
		this.page.await(DemoPage.SOON, () -> this.page.text("connection").equals("Live"));
		// Drawn, which it is not before the page knows its own size
		this.page.await(DemoPage.SOON, () -> !driver.findElements(By.cssSelector(".plot .world .grid *")).isEmpty());
	}

	@Test
	void twoLeadersAtOnceAreShownEverywhere() {
		open(Map.of("terms",
				List.of(term("0:1:1", "node-1", -9000, -4000L, false), term("0:1:2", "node-2", -4800, null, false))));
		assertThat(this.page.text("headline")).isEqualTo("node-2 leads");
		assertThat(this.page.text("overlap")).contains("Two nodes led at once for 800 ms");
		assertThat(this.page.text("terms")).contains("two led at once, for 800 ms");
		assertThat(driver.findElements(By.cssSelector(".plot .seam.overlap"))).hasSize(1);
		assertThat(this.page.announced()).contains("Two nodes led at once");
	}

	@Test
	void twoCurrentLeadersAreTheHeadline() {
		open(Map.of("terms",
				List.of(term("0:1:1", "node-1", -9000, null, false), term("0:1:2", "node-2", -4800, null, false))));
		assertThat(this.page.text("headline")).isEqualTo("node-1 and node-2 both report that they lead");
		assertThat(this.page.find("leader-kill").getDomAttribute("aria-disabled")).isEqualTo("true");
	}

	@Test
	void leaderWithoutReportSinceTheNextTermIsNoSecondLeader() {
		open(Map.of("terms",
				List.of(term("0:1:1", "node-1", -9000, 600_000L, true), term("0:1:2", "node-2", -100, null, false))));
		assertThat(this.page.text("headline")).isEqualTo("node-2 leads");
		assertThat(this.page.text("terms")).contains("not known").doesNotContain("two led");
		assertThat(this.page.has("overlap") && this.page.find("overlap").isDisplayed()).isFalse();
		assertThat(driver.findElements(By.cssSelector(".plot .seam.overlap"))).isEmpty();
	}

	@Test
	void silentLeaderLedInItsLastReportUntilItsTrustExpires() {
		open(Map.of("terms", List.of(term("0:1:1", "node-1", -9000, 600_000L, true))));
		assertThat(this.page.text("headline")).isEqualTo("node-1 led in its last report");
		assertThat(driver.findElements(By.cssSelector(".plot .seam.gap"))).isEmpty();
		demo.show(Map.of("terms", List.of(term("0:1:1", "node-1", -9000, -500L, true))));
		this.page.await(DemoPage.SOON, () -> this.page.text("headline").equals("No node is known to lead"));
		this.page.await(DemoPage.SOON, () -> driver.findElements(By.cssSelector(".plot .seam.gap")).size() == 1);
	}

	@Test
	void frozenLeaderIsNotReportedAsLeading() {
		Map<String, Object> leadership = Map.of("role", "leader", "leaseRemaining", "PT600S");
		open(Map.of("terms", List.of(term("0:1:1", "node-1", -9000, null, false)), "nodes", List.of(Map.of("name",
				"node-1", "pid", 1, "process", "frozen", "cut", false, "seenAt", this.now, "leadership", leadership))));
		assertThat(this.page.text("headline")).isEqualTo("node-1 led in its last report");
		assertThat(this.page.text("sub")).startsWith("No other node could lead now");
		assertThat(this.page.text("terms")).contains("by its last report");
		assertThat(this.page.text("node-1", "lease-text")).matches("Lease: \\d+ min \\d+ s remaining, by the clock");
	}

	@Test
	void counterIsGreenOnlyForRecentCount() {
		open(Map.of("rows", ScriptedDemo.rows(0, 0, 0, 0)));
		assertThat(this.page.text("rows-verdict")).isEqualTo("Not counted yet");
		assertThat(this.page.text("rows-duplicates")).isEqualTo("\u2013");
		demo.show(Map.of("rows", ScriptedDemo.rows(this.now - 20_000, this.now - 10_000, 0, 0)));
		this.page.await(DemoPage.SOON, () -> this.page.text("rows-verdict").startsWith("Not counted since"));
		demo.show(Map.of("rows", ScriptedDemo.rows(this.now - 20_000, this.now + 600_000, 0, 0)));
		this.page.await(DemoPage.SOON, () -> this.page.text("rows-verdict").contains("None twice"));
		demo.show(Map.of("rows", ScriptedDemo.rows(this.now - 20_000, this.now - 10_000, 0, 2)));
		this.page.await(DemoPage.SOON, () -> this.page.text("rows-verdict").contains("must never happen"));
		assertThat(this.page.attribute(this.page.find("counter"), "data-state")).isEqualTo("broken");
	}

	@Test
	void durableScheduleIsGreenWhileEachSecondRanOnce() {
		open(Map.of("rows", ScriptedDemo.rows(0, 0, 0, 0)));
		assertThat(this.page.text("fires-verdict")).isEqualTo("Not counted yet");
		assertThat(this.page.text("durable-holes")).isEqualTo("\u2013");
		showFires(ScriptedDemo.fires(this.now - 1000, 0, 0));
		awaitFires("clean", "Each second once since ");
		assertThat(this.page.text("durable-count")).isEqualTo("60");
		// What is beside it does not matter
		assertThat(this.page.text("plain-doubles")).isEqualTo("2");
		assertThat(this.page.text("plain-holes")).isEqualTo("3");
		showFires(ScriptedDemo.fires(this.now - 7500, 0, 0));
		awaitFires("due", "7 seconds due");
		showFires(ScriptedDemo.fires(this.now, 0, 1));
		awaitFires("broken", "not at all");
		showFires(ScriptedDemo.fires(this.now, 1, 0));
		awaitFires("broken", "ran twice");
		assertThat(this.page.attribute(this.page.find("durable-doubles"), "data-bad")).isEqualTo("true");
		assertThat(this.page.attribute(this.page.find("durable-holes"), "data-bad")).isEqualTo("false");
		assertThat(this.page.attribute(this.page.find("counter"), "data-state")).isEqualTo("clean");
	}

	private void showFires(Map<String, Object> durable) {
		demo.show(Map.of("rows", ScriptedDemo.rows(this.now, this.now + 600_000, 0, 0, durable)));
	}

	private void awaitFires(String state, String verdict) {
		this.page.await(DemoPage.SOON, () -> this.page.attribute(this.page.find("fires"), "data-state").equals(state)
				&& this.page.text("fires-verdict").contains(verdict));
	}

	@Test
	void supersededFaultIsNeitherWatchedNorCounted() {
		Map<String, Object> outcome = Map.of("leader", "node-2", "millis", 6200, "overlapMillis", 0, "missedTicks", 30,
				"complete", true);
		open(Map.of("faults", List.of(fault(2, 1000, null, outcome), fault(1, null, 2, null))));
		assertThat(DemoPage.text(this.page.find("fault-1"), "happened")).contains("Superseded by 2");
		assertThat(DemoPage.text(this.page.find("fault-2"), "happened")).contains("longer than expected");
		assertThat(this.page.text("fault-summary")).isEqualTo("cut off \u00d7 1: 6,200 ms");
	}

	private Map<String, Object> fault(int id, @Nullable Integer bound, @Nullable Integer overtakenBy,
			@Nullable Object outcome) {
		Map<String, Object> fault = new LinkedHashMap<>(Map.of("id", id, "action", "cut", "node", "node-1", "at",
				this.now - 9000, "expect", "anything", "counts", outcome != null));
		fault.put("boundMillis", bound);
		fault.put("overtakenBy", overtakenBy);
		fault.put("outcome", outcome);
		return fault;
	}

	@Test
	void ticksOfOneTimeAreDrawnSeparately() {
		open(Map.of("ticks", List.of(tick(1), tick(2), tick(2))));
		String path = "return document.querySelector('.tick-all').getAttribute('d')";
		this.page.await(DemoPage.SOON, () -> driver.findElements(By.cssSelector(".tick-all")).size() == 1);
		String drawn = String.valueOf(driver.executeScript(path));
		assertThat(drawn.substring(1).split("M")).hasSize(2).doesNotHaveDuplicates();
	}

	@Test
	void saysWhichStoreItIsAndWhatItMeans() {
		Map<String, Object> leads = Map.of("terms", List.of(term("0:1:1", "node-1", -9000, null, false)));
		open(leads);
		assertThat(this.page.text("store")).isEqualTo("by an advisory lock");
		assertThat(this.page.text("sub")).contains("the database waits");
		assertThat(hint("kill")).isEqualTo("next leader within less than 1 s");
		assertThat(hint("cut")).isEqualTo("next leader within 5.25\u00a0s");
		Map<String, Object> table = new LinkedHashMap<>(leads);
		table.put("store", "table");
		table.put("silence", "PT6.2S");
		open(table);
		assertThat(this.page.text("store")).isEqualTo("by a lease in a table");
		assertThat(this.page.text("sub")).contains("the other nodes wait");
		assertThat(this.page.text("latest")).contains("within 6.2 s");
		assertThat(hint("kill")).isEqualTo(hint("cut")).isEqualTo("next leader within 6.2\u00a0s");
		assertThat(hint("resign")).isEqualTo("next leader at once");
	}

	private static String hint(String action) {
		return String.valueOf(driver.findElement(By.id("expect-" + action)).getDomProperty("textContent"));
	}

	private Map<String, Object> tick(int number) {
		return Map.of("node", "node-1", "kind", "all", "at", this.now - 1000, "number", number);
	}

	@Test
	void pageReloadsWithAnotherRun() {
		open(Map.of("terms", List.of(term("0:1:9", "node-1", -9000, null, false))));
		driver.executeScript("window.sameAsBefore = true");
		demo.show(Map.of("run", "2"));
		this.page.await(DemoPage.SOON, () -> driver.executeScript("return window.sameAsBefore ?? null") == null);
		this.page.await(DemoPage.SOON, () -> this.page.text("headline").equals("No node leads"));
	}

	private Map<String, Object> term(String term, String node, long from, @Nullable Long to, boolean provisional) {
		return ScriptedDemo.term(term, node, this.now + from, (to != null) ? this.now + to : null, provisional);
	}

}
