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
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/**
 * The network between a node and its database. While it is cut, it drops what either side
 * sends without closing anything: connections stay open, new ones are accepted and get no
 * answer.
 */
class Proxy implements AutoCloseable {

	private final ServerSocket server;

	private final int target;

	private final List<ProxyLink> links = new ArrayList<>();

	private boolean cut;

	/**
	 * Create a new {@code Proxy} instance, which passes on from a free port.
	 * @param target the port to which to pass, on this machine
	 */
	Proxy(int target) throws IOException {
		this.target = target;
		this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
	}

	void start() {
		Background.start("demo-proxy", this::accept);
	}

	int port() {
		return this.server.getLocalPort();
	}

	synchronized boolean isCut() {
		return this.cut;
	}

	/**
	 * Pass nothing on from now on.
	 */
	synchronized void cut() {
		this.cut = true;
		this.links.forEach(ProxyLink::cut);
	}

	/**
	 * Pass everything on again. Connections that were cut are reset, as they have lost
	 * data.
	 */
	synchronized void reconnect() {
		this.cut = false;
		this.links.removeIf(ProxyLink::resetIfCut);
	}

	private void accept() {
		while (!this.server.isClosed()) {
			try {
				add(new ProxyLink(this.server.accept(), this.target));
			}
			catch (IOException ex) {
				// The proxy is closed, or there are too many connections for now
				Background.pause(20);
			}
		}
	}

	private synchronized void add(ProxyLink link) {
		this.links.removeIf(ProxyLink::isClosed);
		if (this.cut) {
			link.cut();
		}
		this.links.add(link);
		link.start();
	}

	@Override
	public synchronized void close() throws IOException {
		this.server.close();
		this.links.forEach(ProxyLink::close);
	}

}
