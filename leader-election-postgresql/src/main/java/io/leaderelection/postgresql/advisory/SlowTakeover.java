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

import java.net.InetAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Locale;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.postgresql.ServerInspection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Why the next leader waits for the whole takeover delay if the session of this node ends
 * while it leads: what the server counts as an end by the client may have another cause,
 * or is not counted.
 */
enum SlowTakeover {

	/** It is disabled. */
	DISABLED,

	/** The delay is as short as that of a fast takeover, or as long as the lease. */
	DELAY,

	/** The server does not count how sessions end, or the role may not read it. */
	SERVER,

	/** A pooler is in between. */
	POOLER,

	/** The server did not accept the TCP settings, so TCP may end the session earlier. */
	SETTINGS,

	/** The server is reached at another address than its own. */
	TRANSLATED,

	/** The server sees another client than this node, or no address. */
	UNKNOWN;

	private static final Log logger = LogFactory.getLog(SlowTakeover.class);

	/**
	 * Determine why a takeover from a session is slow.
	 * @param pooled whether a pooler is in between
	 * @param row the settings of the session
	 * @param socket the socket of the session, if it is known
	 * @return the reason, or {@code null} if it is fast
	 */
	static @Nullable SlowTakeover of(ElectionSettings settings, ServerInspection server, boolean pooled, ResultSet row,
			@Nullable Socket socket) throws SQLException {
		FastTakeover fast = settings.fastTakeover();
		if (fast == FastTakeover.FALSE) {
			return DISABLED;
		}
		if (!settings.isDelayShortened()) {
			return DELAY;
		}
		if (!server.endings()) {
			return SERVER;
		}
		if (pooled) {
			return POOLER;
		}
		if (isEndedEarlierByTcp(settings, row)) {
			return SETTINGS;
		}
		return (fast == FastTakeover.TRUE) ? null : route(row, socket);
	}

	private static boolean isEndedEarlierByTcp(ElectionSettings settings, ResultSet row) throws SQLException {
		long lease = settings.lease().toMillis();
		return row.getLong("tcp_user_timeout") < lease || row.getLong("tcp_keepalives_idle") * 1000 < lease;
	}

	/**
	 * Compare all four ends of the connection. Equal ends are no proof that nothing is in
	 * between: a proxy may keep the addresses and ports of both sides.
	 */
	private static @Nullable SlowTakeover route(ResultSet row, @Nullable Socket socket) throws SQLException {
		if (socket == null || !isSame(socket.getLocalAddress(), socket.getLocalPort(), row, "client")) {
			return UNKNOWN;
		}
		return isSame(socket.getInetAddress(), socket.getPort(), row, "server") ? null : TRANSLATED;
	}

	private static boolean isSame(@Nullable InetAddress address, int port, ResultSet row, String end)
			throws SQLException {
		String seen = row.getString(end + "_addr");
		return address != null && seen != null && port == row.getInt(end + "_port")
				&& Arrays.equals(address.getAddress(), bytes(seen));
	}

	/**
	 * Return the bytes of a literal address. An IPv4 address that is mapped to IPv6 is
	 * one of IPv4, as in a socket.
	 */
	private static byte[] bytes(String literal) {
		try {
			return InetAddress.getByName(literal).getAddress();
		}
		catch (UnknownHostException ex) {
			logger.debug("The server reports an address that is none: " + literal, ex);
			return new byte[0];
		}
	}

	/**
	 * Return the word for health and endpoint.
	 */
	static String word(@Nullable SlowTakeover reason) {
		return (reason != null) ? reason.name().toLowerCase(Locale.ROOT) : "fast";
	}

}
