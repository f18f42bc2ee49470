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

package io.leaderelection.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;

import org.springframework.util.FileSystemUtils;

/**
 * Processes of tests: their signals, ports and ends.
 */
public final class Processes {

	private Processes() {
	}

	/**
	 * Return a port on which nothing listens.
	 */
	public static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			return socket.getLocalPort();
		}
	}

	/**
	 * Whether a process listens.
	 */
	public static boolean listens(String host, int port) {
		try (Socket socket = new Socket(host, port)) {
			return socket.isConnected();
		}
		catch (IOException ex) {
			return false;
		}
	}

	/**
	 * End a process, and delete its folder.
	 */
	static void end(Process process, Path folder) {
		try {
			process.destroyForcibly().onExit().join();
			FileSystemUtils.deleteRecursively(folder);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Whether the process runs.
	 */
	static boolean isAlive(long pid) {
		return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
	}

	/**
	 * Send a signal to a process and then to all that descend from it.
	 */
	static void signalTree(long pid, String signal) {
		signal(pid, signal);
		ProcessHandle.of(pid)
			.stream()
			.flatMap(ProcessHandle::descendants)
			.map(ProcessHandle::pid)
			.forEach((descendant) -> signalIfAlive(descendant, signal));
	}

	/**
	 * Send a signal to a process that may have ended.
	 */
	static void signalIfAlive(long pid, String signal) {
		try {
			signal(pid, signal);
		}
		catch (IllegalStateException ex) {
			if (isAlive(pid)) {
				throw ex;
			}
		}
	}

	/**
	 * Send a signal, for instance {@code KILL}, {@code STOP} or {@code CONT}.
	 */
	public static void signal(long pid, String signal) {
		try {
			int status = new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).inheritIO().start().waitFor();
			if (status != 0) {
				throw new IllegalStateException("kill -" + signal + " " + pid + " ended with " + status);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

}
