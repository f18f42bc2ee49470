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

package io.leaderelection.comparison;

import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;

/**
 * The API server of fabric8's tests, which keeps resources in the memory of this JVM and
 * compares their versions. It answers faster than a real one, whose writes go to etcd.
 */
final class KubernetesBackend implements Backend {

	/** Logs each request otherwise. */
	private static final Logger LOGGER = Logger.getLogger(MockWebServer.class.getName());

	private final KubernetesMockServer server;

	KubernetesBackend() {
		LOGGER.setLevel(Level.WARNING);
		this.server = new KubernetesMockServer(new Context(), new MockWebServer(), new HashMap<>(),
				new KubernetesCrudDispatcher(), false);
		this.server.init(InetAddress.getLoopbackAddress(), 0);
	}

	@Override
	public int port() {
		return this.server.getPort();
	}

	@Override
	public void endSessions(int node, String election) {
		throw new UnsupportedOperationException("A lease has no session");
	}

	@Override
	public Map<String, Double> counters() {
		return Map.of("requests", (double) this.server.getRequestCount());
	}

	@Override
	public void close() {
		this.server.destroy();
	}

}
