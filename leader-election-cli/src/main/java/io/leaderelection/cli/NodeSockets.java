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

package io.leaderelection.cli;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import javax.net.SocketFactory;

/**
 * Creates the sockets of the sessions of a node, and can cut the node off. The driver
 * creates an instance for each connection ({@code socketFactory},
 * {@code socketFactoryArg}).
 */
public final class NodeSockets extends SocketFactory {

	private static final Map<String, Network> networks = new ConcurrentHashMap<>();

	private final Network network;

	/**
	 * Create a new {@code NodeSockets} instance.
	 * @param node the node
	 */
	public NodeSockets(String node) {
		this.network = network(node);
	}

	/**
	 * Return the connections of a node.
	 * @param node the node
	 */
	static Network network(String node) {
		return networks.computeIfAbsent(node, (key) -> new Network());
	}

	/**
	 * Forget the connections of a node.
	 * @param node the node
	 */
	static void forget(String node) {
		networks.remove(node);
	}

	@Override
	public Socket createSocket() throws IOException {
		return this.network.createSocket();
	}

	@Override
	public Socket createSocket(String host, int port) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket createSocket(InetAddress host, int port) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
		throw new UnsupportedOperationException();
	}

	/**
	 * The connections of a node.
	 */
	static final class Network {

		private final List<Socket> sockets = new ArrayList<>();

		private boolean down;

		private synchronized Socket createSocket() throws IOException {
			if (this.down) {
				throw new ConnectException("This node has been cut off by the command");
			}
			this.sockets.removeIf(Socket::isClosed);
			Socket socket = new Socket();
			this.sockets.add(socket);
			return socket;
		}

		/**
		 * Reset all connections, without a message to the server, and allow no others.
		 */
		synchronized void cut() throws IOException {
			this.down = true;
			for (Socket socket : this.sockets) {
				if (!socket.isClosed()) {
					socket.setSoLinger(true, 0);
					socket.close();
				}
			}
		}

		/**
		 * Allow connections again.
		 */
		synchronized void restore() {
			this.down = false;
		}

	}

}
