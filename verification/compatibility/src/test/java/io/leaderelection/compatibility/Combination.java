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

package io.leaderelection.compatibility;

import java.util.List;

/**
 * Versions that are run together. Not every combination is, but every pair of a version
 * of Spring Boot with another value, and every pair of a store with another value.
 *
 * @param springBoot the minor version of Spring Boot
 * @param java the feature release of Java
 * @param threads the threads of the application
 * @param application whether the application has a web server
 * @param store the store of the election
 * @param postgresql the major version of PostgreSQL
 */
record Combination(String springBoot, int java, Threads threads, Application application, String store,
		int postgresql) {

	private static final String LOCK = "advisory-lock";

	private static final String TABLE = "table";

	static final List<Combination> ALL = List.of(
			new Combination("4.1", 17, Threads.PLATFORM, Application.WEB, LOCK, 18),
			new Combination("4.0", 25, Threads.VIRTUAL, Application.WEB, TABLE, 18),
			new Combination("4.0", 17, Threads.PLATFORM, Application.WEB, LOCK, 17),
			new Combination("4.1", 25, Threads.VIRTUAL, Application.PLAIN, TABLE, 17),
			new Combination("4.1", 25, Threads.VIRTUAL, Application.WEB, LOCK, 16),
			new Combination("4.0", 17, Threads.PLATFORM, Application.PLAIN, TABLE, 16),
			new Combination("4.0", 25, Threads.VIRTUAL, Application.PLAIN, LOCK, 15),
			new Combination("4.1", 25, Threads.PLATFORM, Application.WEB, TABLE, 15),
			new Combination("4.1", 17, Threads.PLATFORM, Application.PLAIN, LOCK, 14),
			new Combination("4.0", 25, Threads.PLATFORM, Application.WEB, TABLE, 14),
			new Combination("3.5", 25, Threads.VIRTUAL, Application.WEB, TABLE, 18),
			new Combination("3.5", 17, Threads.PLATFORM, Application.PLAIN, LOCK, 18),
			new Combination("3.5", 25, Threads.PLATFORM, Application.WEB, LOCK, 17),
			new Combination("3.5", 17, Threads.PLATFORM, Application.WEB, TABLE, 16),
			new Combination("3.5", 25, Threads.VIRTUAL, Application.PLAIN, LOCK, 15),
			new Combination("3.5", 25, Threads.VIRTUAL, Application.PLAIN, LOCK, 14),
			new Combination("3.5", 17, Threads.PLATFORM, Application.WEB, TABLE, 14));

	/**
	 * The first with the newest version of Spring Boot, and the last with the oldest.
	 */
	static final List<Combination> NEWEST_AND_OLDEST = List.of(ALL.get(0), ALL.get(ALL.size() - 1));

	@Override
	public String toString() {
		return "Spring Boot %s, Java %d, %s threads, %s, store %s, PostgreSQL %d".formatted(this.springBoot, this.java,
				this.threads, this.application, this.store, this.postgresql);
	}

	enum Threads {

		PLATFORM, VIRTUAL;

		@Override
		public String toString() {
			return name().toLowerCase();
		}

	}

	enum Application {

		WEB("web"), PLAIN("no web server");

		private final String text;

		Application(String text) {
			this.text = text;
		}

		@Override
		public String toString() {
			return this.text;
		}

	}

}
