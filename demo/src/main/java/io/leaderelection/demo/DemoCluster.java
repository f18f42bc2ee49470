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

/**
 * Starts the demo: a PostgreSQL, nodes of the sample, and a page to break them and watch.
 */
public final class DemoCluster {

	private DemoCluster() {
	}

	/**
	 * Start the demo, until this process is ended.
	 * @param args the options, see {@link DemoOptions}
	 * @throws Exception if it does not start
	 */
	public static void main(String[] args) throws Exception {
		try {
			DemoOptions options = DemoOptions.parse(args);
			DemoServer server = new DemoServer(options.port());
			RunDirectory directory = RunDirectory.create();
			Launcher launcher = new Launcher(directory, server);
			Runtime.getRuntime().addShutdownHook(new Thread(launcher::stop, "demo-stop"));
			directory.add(new ChildProcess(RunDirectory.LAUNCHER, ProcessHandle.current()));
			EarlierRuns.remove(directory, Launcher::say);
			endWithParent();
			launcher.start(options);
			// The threads that serve the page are those of a server, and not daemons
		}
		catch (DemoException ex) {
			System.err.println("\n" + ex.getMessage() + "\n");
			System.exit(1);
		}
	}

	// Maven ends what it runs, unless it is killed itself
	private static void endWithParent() {
		if (Boolean.getBoolean("demo.ends-with-parent")) {
			ProcessHandle.current().parent().ifPresent((parent) -> parent.onExit().thenRun(() -> System.exit(1)));
		}
	}

}
