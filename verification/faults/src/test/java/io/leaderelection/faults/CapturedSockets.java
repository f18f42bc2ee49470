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

package io.leaderelection.faults;

import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.leaderelection.testsupport.DriverSocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * Gives away the sockets of the driver, which creates this class by its name.
 */
public final class CapturedSockets extends DriverSocketFactory {

	private static final Map<String, Socket> SOCKETS = new ConcurrentHashMap<>();

	private final String id;

	public CapturedSockets(String id) {
		this.id = id;
	}

	static @Nullable Socket remove(String id) {
		return SOCKETS.remove(id);
	}

	@Override
	public Socket createSocket() {
		Socket socket = new Socket();
		SOCKETS.put(this.id, socket);
		return socket;
	}

}
