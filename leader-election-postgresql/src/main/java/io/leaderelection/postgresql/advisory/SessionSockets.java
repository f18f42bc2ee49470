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

package io.leaderelection.postgresql.advisory;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

import javax.net.SocketFactory;

import org.jspecify.annotations.Nullable;

/**
 * Creates the sockets of one connection, and remembers the last one: the driver may try
 * several servers and forms of encryption before one succeeds. The driver creates an
 * instance for each connection, with the name of its {@link Opening}. Public for the
 * driver only.
 */
public final class SessionSockets extends SocketFactory {

	private static final Map<String, Opening> openings = new ConcurrentHashMap<>();

	private final @Nullable Opening opening;

	/**
	 * Create a new {@code SessionSockets} instance.
	 * @param opening the name of the opening, which may be unknown
	 */
	public SessionSockets(String opening) {
		this.opening = openings.get(opening);
	}

	@Override
	public Socket createSocket() {
		Socket socket = new Socket();
		if (this.opening != null) {
			this.opening.last = socket;
		}
		return socket;
	}

	@Override
	public Socket createSocket(String host, int port) throws IOException {
		return getDefault().createSocket(host, port);
	}

	@Override
	public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
		return getDefault().createSocket(host, port, localHost, localPort);
	}

	@Override
	public Socket createSocket(InetAddress host, int port) throws IOException {
		return getDefault().createSocket(host, port);
	}

	@Override
	public Socket createSocket(InetAddress host, int port, InetAddress localAddress, int localPort) throws IOException {
		return getDefault().createSocket(host, port, localAddress, localPort);
	}

	/**
	 * The opening of a connection. Sockets that are created when it has been closed, for
	 * instance to cancel a statement, do not count.
	 */
	static final class Opening implements AutoCloseable {

		private final String name = UUID.randomUUID().toString();

		private volatile @Nullable Socket last;

		Opening() {
			openings.put(this.name, this);
		}

		/**
		 * Add the settings of the driver by which it creates its sockets here.
		 */
		Properties addTo(Properties driverSettings) {
			driverSettings.setProperty("socketFactory", SessionSockets.class.getName());
			driverSettings.setProperty("socketFactoryArg", this.name);
			return driverSettings;
		}

		/**
		 * Return whether the connection failed since the driver could not create its
		 * sockets here: it may have been loaded by a class loader that does not know this
		 * class.
		 */
		static boolean isCauseOf(Throwable failure) {
			for (Throwable each = failure; each != null; each = each.getCause()) {
				if (String.valueOf(each.getMessage()).contains(SessionSockets.class.getName())) {
					return true;
				}
			}
			return false;
		}

		/**
		 * Return the socket of the connection that was opened, or {@code null} if it is
		 * not known.
		 */
		@Nullable Socket socket() {
			return this.last;
		}

		@Override
		public void close() {
			openings.remove(this.name);
		}

	}

}
