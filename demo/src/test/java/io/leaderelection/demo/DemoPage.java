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

import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;

import org.awaitility.Awaitility;
import org.openqa.selenium.By;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;

/**
 * What a visitor sees of the demo.
 */
class DemoPage {

	/** For what takes a moment on the page. */
	static final Duration SOON = Duration.ofSeconds(10);

	/** For what takes as long as a lease, a start or a hand-over, and this machine. */
	static final Duration LATER = Duration.ofSeconds(90);

	private final ChromeDriver driver;

	DemoPage(ChromeDriver driver) {
		this.driver = driver;
	}

	WebElement find(String testId) {
		return this.driver.findElement(by(testId));
	}

	boolean has(String testId) {
		return !this.driver.findElements(by(testId)).isEmpty();
	}

	String text(String testId) {
		return find(testId).getText();
	}

	private static By by(String testId) {
		return By.cssSelector("[data-testid='" + testId + "']");
	}

	WebElement card(String node) {
		return find("node-" + node);
	}

	/**
	 * A figure or a text on the card of a node.
	 */
	String text(String node, String testId) {
		return card(node).findElement(by(testId)).getText();
	}

	WebElement button(String node, String action) {
		return card(node).findElement(by("action-" + action));
	}

	String attribute(WebElement element, String name) {
		return Objects.requireNonNullElse(element.getDomAttribute(name), "");
	}

	/**
	 * The leader in the headline, once there is one.
	 */
	String leader() {
		return awaitValue(() -> text("headline-leader"));
	}

	/**
	 * What was announced to a screen reader.
	 */
	String announced() {
		return Objects.requireNonNullElse(find("announcer").getDomProperty("textContent"), "").replace('\u00a0', ' ');
	}

	/**
	 * Wait until the page lists a fault with its outcome.
	 * @return the fault
	 */
	WebElement awaitOutcome(int id) {
		await(LATER, () -> attribute(find("fault-" + id), "data-outcome").equals("known"));
		return find("fault-" + id);
	}

	static String text(WebElement fault, String testId) {
		return fault.findElement(by("fault-" + testId)).getText();
	}

	/**
	 * How long it took, as the page shows it.
	 */
	static Duration took(WebElement fault) {
		String shown = text(fault, "millis");
		return Duration.ofMillis(Long.parseLong(shown.replaceAll("\\D", "")));
	}

	void await(Duration limit, Supplier<Boolean> condition) {
		Awaitility.await()
			.atMost(limit)
			.pollInterval(Duration.ofMillis(100))
			.ignoreExceptionsMatching(DemoPage::isNotThere)
			.until(condition::get);
	}

	private String awaitValue(Supplier<String> value) {
		return Awaitility.await()
			.atMost(LATER)
			.ignoreExceptionsMatching(DemoPage::isNotThere)
			.until(value::get, (found) -> !found.isEmpty());
	}

	private static boolean isNotThere(Throwable ex) {
		return ex instanceof org.openqa.selenium.NoSuchElementException || ex instanceof StaleElementReferenceException;
	}

}
