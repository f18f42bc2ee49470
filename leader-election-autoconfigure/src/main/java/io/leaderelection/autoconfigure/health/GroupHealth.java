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

package io.leaderelection.autoconfigure.health;

import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

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
final class GroupHealth {

	private static final int FIRST_BAD_STATUS_CODE = 400;

	private final HealthEndpoint endpoint;

	private final HealthEndpointGroups groups;

	GroupHealth(HealthEndpoint endpoint, HealthEndpointGroups groups) {
		this.endpoint = endpoint;
		this.groups = groups;
	}

	/**
	 * Return a check whether an HTTP request for a group would succeed, or {@code null}
	 * if there is no group of that name.
	 */
	@Nullable BooleanSupplier check(String name) {
		HealthEndpointGroup group = this.groups.get(name);
		return (group != null) ? () -> isHealthy(name, group) : null;
	}

	private boolean isHealthy(String name, HealthEndpointGroup group) {
		Map<String, HealthDescriptor> components = (this.endpoint
			.healthForPath(name) instanceof CompositeHealthDescriptor health) ? health.getComponents() : null;
		if (components == null) {
			return true;
		}
		Set<Status> statuses = components.entrySet()
			.stream()
			.filter((component) -> !component.getKey().equals("leadership"))
			.map((component) -> component.getValue().getStatus())
			.collect(Collectors.toSet());
		if (statuses.isEmpty()) {
			return true;
		}
		Status status = group.getStatusAggregator().getAggregateStatus(statuses);
		return group.getHttpCodeStatusMapper().getStatusCode(status) < FIRST_BAD_STATUS_CODE;
	}

}
