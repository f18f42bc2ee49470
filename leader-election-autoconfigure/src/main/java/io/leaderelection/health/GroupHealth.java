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

package io.leaderelection.health;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

import org.springframework.boot.health.actuate.endpoint.CompositeHealthDescriptor;
import org.springframework.boot.health.actuate.endpoint.HealthDescriptor;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroup;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroups;
import org.springframework.boot.health.contributor.Status;

/**
 * Health of the application by groups of its health endpoint, without the component
 * {@code leadership}: an election must not depend on itself.
 */
public class GroupHealth {

	private static final int FIRST_BAD_STATUS_CODE = 400;

	private final HealthEndpoint endpoint;

	private final HealthEndpointGroups groups;

	/**
	 * Create a new {@code GroupHealth} instance.
	 * @param endpoint the endpoint
	 * @param groups its groups
	 */
	public GroupHealth(HealthEndpoint endpoint, HealthEndpointGroups groups) {
		this.endpoint = endpoint;
		this.groups = groups;
	}

	/**
	 * Return whether there is a group of that name.
	 * @param group the name
	 * @return whether it exists
	 */
	public boolean contains(String group) {
		return this.groups.getNames().contains(group);
	}

	/**
	 * Return whether the group is healthy: an HTTP request for it would succeed.
	 * @param name the name of the group
	 * @return whether it is healthy
	 */
	public boolean isHealthy(String name) {
		HealthEndpointGroup group = this.groups.get(name);
		HealthDescriptor health = this.endpoint.healthForPath(name);
		if (group == null || !(health instanceof CompositeHealthDescriptor composite)
				|| composite.getComponents() == null) {
			return true;
		}
		Map<String, HealthDescriptor> components = new HashMap<>(composite.getComponents());
		components.remove("leadership");
		if (components.isEmpty()) {
			return true;
		}
		Status status = group.getStatusAggregator()
			.getAggregateStatus(
					components.values().stream().map(HealthDescriptor::getStatus).collect(Collectors.toSet()));
		return group.getHttpCodeStatusMapper().getStatusCode(status) < FIRST_BAD_STATUS_CODE;
	}

}
