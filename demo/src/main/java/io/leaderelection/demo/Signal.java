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

/**
 * A signal that freezes or thaws a process.
 */
enum Signal {

	STOP, CONT;

	/**
	 * Send the signal.
	 * @throws RefusedException where there are no signals
	 * @throws IOException if it was not sent
	 */
	void send(long pid) throws IOException, InterruptedException {
		if (ChildJvm.isWindows()) {
			throw new RefusedException("Windows cannot freeze a process");
		}
		// Every shell has its own kill, not every container has one besides
		int exit = new ProcessBuilder("/bin/sh", "-c", "kill -" + name() + " " + pid).start().waitFor();
		if (exit != 0) {
			throw new IOException("kill -" + name() + " " + pid + " ended with " + exit);
		}
	}

}
