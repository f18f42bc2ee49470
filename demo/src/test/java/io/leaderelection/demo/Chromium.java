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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;

/**
 * The Chromium of this machine, if it has one with its driver. Nothing is downloaded.
 */
final class Chromium {

	private static final @Nullable Path browser = find("chromium", "chromium-browser", "google-chrome");

	private static final @Nullable Path driver = find("chromedriver");

	private Chromium() {
	}

	private static @Nullable Path find(String... names) {
		List<Path> directories = Stream
			.concat(Stream.of("/usr/bin"),
					Stream.of(Optional.ofNullable(System.getenv("PATH")).orElse("").split(File.pathSeparator)))
			.map(Path::of)
			.toList();
		return Stream.of(names)
			.flatMap((name) -> directories.stream().map((directory) -> directory.resolve(name)))
			.filter(Files::isExecutable)
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return whether there is something to test with, or must be, for {@code @EnabledIf}.
	 */
	static boolean isInstalledOrRequired() {
		return (browser != null && driver != null) || "required".equals(System.getProperty("demo.test.browser"));
	}

	static ChromeDriver start(Path userData) {
		if (browser == null || driver == null) {
			throw new IllegalStateException("There is no Chromium with its driver in /usr/bin or on the path");
		}
		ChromeOptions options = new ChromeOptions();
		options.setBinary(browser.toFile());
		options.addArguments("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
				"--disable-background-networking", "--disable-component-update", "--disable-sync",
				"--disable-dev-shm-usage", "--window-size=1280,1600", "--user-data-dir=" + userData);
		return new ChromeDriver(new ChromeDriverService.Builder().usingDriverExecutable(driver.toFile()).build(),
				options);
	}

}
