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

package io.leaderelection.documentation;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ElectionDescriptor;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ResignationDescriptor;
import io.leaderelection.documentation.Markdown.CodeBlock;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.MappingIterator;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.health.contributor.Health;

/**
 * JSON in a document, against what is really answered.
 */
public final class DocumentedJson {

	private static final JsonMapper MAPPER = JsonMapper.builder()
		.enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
		.enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
		.build();

	private DocumentedJson() {
	}

	/**
	 * The objects in a block: one or more, or those of which one member is shown.
	 */
	static List<JsonNode> objects(String json) {
		String text = json.startsWith("{") ? json : "{" + json + "}";
		try (MappingIterator<JsonNode> objects = MAPPER.readerFor(JsonNode.class).readValues(text)) {
			return objects.readAll();
		}
	}

	/**
	 * The first object with a member.
	 */
	public static JsonNode objectWith(String member, List<CodeBlock> blocks) {
		return blocks.stream()
			.flatMap((block) -> objects(block.code()).stream())
			.filter((object) -> object.has(member))
			.findFirst()
			.orElseThrow();
	}

	/**
	 * What no operation of the endpoint answers with in an object, empty if nothing.
	 */
	static String notAnswered(JsonNode object) {
		Class<?> answer = object.has("status") ? ResignationDescriptor.class : ElectionDescriptor.class;
		try {
			MAPPER.treeToValue(object, answer);
			return "";
		}
		catch (JacksonException ex) {
			return ex.getOriginalMessage();
		}
	}

	/**
	 * The members of health, as paths.
	 */
	static Set<String> members(Health health) {
		return members(
				MAPPER.valueToTree(Map.of("status", health.getStatus().getCode(), "details", health.getDetails())));
	}

	/**
	 * The members of an object, as paths.
	 */
	static Set<String> members(JsonNode object) {
		Set<String> members = new TreeSet<>();
		object.properties().forEach((member) -> {
			members.add(member.getKey());
			members(member.getValue()).forEach((inner) -> members.add(member.getKey() + "." + inner));
		});
		return members;
	}

}
