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

package io.leaderelection.engine;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What a candidate publishes about itself to the other nodes.
 *
 * @param protocol the number of the protocol between nodes that it uses, or 0 if it
 * publishes none
 * @param priority its priority, from 0 to {@value #MAX_PRIORITY}
 * @param capacity how many elections it leads at most, negative if it does not take part
 * in spreading them over nodes, or 0 if it has no limit, either
 * @param metadata values for the applications on other nodes, by name
 */
public record NodeProfile(int protocol, int priority, int capacity, Map<String, String> metadata) {

	/**
	 * The protocol of this version: the keys and statements by which nodes elect one
	 * leader, hand over and request a resignation. Raised with every change after which
	 * two versions could misunderstand each other.
	 */
	public static final int PROTOCOL = 3;

	/** The capacity of a node without a limit. */
	public static final int UNLIMITED = 1_000_000;

	/** The highest priority. */
	public static final int MAX_PRIORITY = 100;

	/** The longest metadata as text, with which each statement of a session begins. */
	public static final int MAX_METADATA_LENGTH = 128;

	/** The profile of a node that publishes nothing. */
	public static final NodeProfile UNKNOWN = new NodeProfile(0, 0, 0, Map.of());

	/** The profile of a node without a priority and metadata. */
	public static final NodeProfile DEFAULT = new NodeProfile(PROTOCOL, 0, 0, Map.of());

	public NodeProfile {
		metadata = Collections.unmodifiableMap(new TreeMap<>(metadata));
	}

	/**
	 * Create a new {@code NodeProfile} instance of a node that does not take part in
	 * spread.
	 * @param protocol the number of the protocol
	 * @param priority the priority
	 * @param metadata the metadata
	 */
	public NodeProfile(int protocol, int priority, Map<String, String> metadata) {
		this(protocol, priority, 0, metadata);
	}

	/**
	 * Return the metadata as text.
	 * @return a line of the form {@code name=value} for each entry
	 */
	public String metadataText() {
		return this.metadata.entrySet()
			.stream()
			.map((entry) -> entry.getKey() + "=" + entry.getValue())
			.collect(Collectors.joining("\n"));
	}

}
