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
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

import org.jspecify.annotations.Nullable;

/**
 * One connection through a {@link Proxy}. Once cut, it never passes anything on again,
 * and hides from either side that the other has closed.
 */
class ProxyLink {

	private static final int CONNECT_TIMEOUT = 5000;

	private final Socket client;

	private final int port;

	private volatile @Nullable Socket target;

	private volatile boolean cut;

	ProxyLink(Socket client, int port) {
		this.client = client;
		this.port = port;
	}

	/**
	 * Connect to the target, unless this is cut, and pass everything on, in the
	 * background.
	 */
	void start() {
		Background.start("demo-proxy-client", this::run);
	}

	private void run() {
		try {
			Socket target = this.cut ? null : connect();
			if (target != null) {
				Background.start("demo-proxy-server", () -> pump(target, this.client));
			}
			pump(this.client, target);
		}
		catch (IOException ex) {
			reset(this.client);
		}
	}

	private Socket connect() throws IOException {
		Socket target = new Socket();
		this.target = target;
		try {
			target.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port), CONNECT_TIMEOUT);
			target.setTcpNoDelay(true);
			this.client.setTcpNoDelay(true);
			return target;
		}
		catch (IOException ex) {
			close(target);
			throw ex;
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
			// The same as the end of the connection
		}
		if (!this.cut || this.target == null) {
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
			// Closed already
		}
	}

}
