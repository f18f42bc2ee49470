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

package io.leaderelection.sample.demo;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

import org.jspecify.annotations.Nullable;

/**
 * One connection through a {@link Proxy}. Once cut, it never passes anything on again,
 * and keeps from either side that the other has closed.
 */
class ProxyLink {

	private final Socket client;

	private @Nullable Socket target;

	private volatile boolean cut;

	ProxyLink(Socket client) {
		this.client = client;
	}

	void connect(int port) throws IOException {
		try {
			this.target = new Socket(InetAddress.getLoopbackAddress(), port);
			this.target.setTcpNoDelay(true);
			this.client.setTcpNoDelay(true);
		}
		catch (IOException ex) {
			reset(this.client);
			throw ex;
		}
	}

	void start() {
		Socket target = this.target;
		Proxy.start("demo-proxy-client", () -> pump(this.client, target));
		if (target != null) {
			Proxy.start("demo-proxy-server", () -> pump(target, this.client));
		}
	}

	private void pump(Socket from, @Nullable Socket to) {
		byte[] buffer = new byte[8192];
		try {
			int length = from.getInputStream().read(buffer);
			while (length != -1) {
				if (!this.cut && to != null) {
					to.getOutputStream().write(buffer, 0, length);
				}
				length = from.getInputStream().read(buffer);
			}
		}
		catch (IOException ex) {
			// As good as the end of the connection
		}
		if (!this.cut) {
			close();
		}
	}

	void cut() {
		this.cut = true;
	}

	boolean resetIfCut() {
		if (this.cut) {
			reset(this.client);
			if (this.target != null) {
				reset(this.target);
			}
		}
		return this.cut;
	}

	boolean isClosed() {
		return this.client.isClosed();
	}

	void close() {
		close(this.client);
		if (this.target != null) {
			close(this.target);
		}
	}

	private static void reset(Socket socket) {
		try {
			socket.setSoLinger(true, 0);
		}
		catch (IOException ex) {
			// Closed already
		}
		close(socket);
	}

	private static void close(Socket socket) {
		try {
			socket.close();
		}
		catch (IOException ex) {
			// Closed, then
		}
	}

}
