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

package io.leaderelection.application;

import java.io.IOException;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClass;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the public API of each module, as {@link ArchitectureTests} defines it, does
 * not change by accident. The module with the stores has none.
 */
@Tag("ring1")
class PublicApiTests {

	private static final Path ROOT = Path.of("../..");

	@ParameterizedTest
	@ValueSource(strings = { "core", "spring", "schedule", "autoconfigure", "test" })
	void hasNotChanged(String module) throws IOException {
		List<String> present = api(module).flatMap((type) -> signatures(type.reflect())).toList();
		Path target = Path.of("target/api/leader-election-" + module + ".txt");
		Path source = Path.of("src/test/resources/api").resolve(target.getFileName());
		Files.createDirectories(target.getParent());
		Files.write(target, present);
		List<String> expected = Files.readAllLines(source);
		List<String> changes = new ArrayList<>();
		present.stream().filter((line) -> !expected.contains(line)).forEach((line) -> changes.add("new: " + line));
		expected.stream().filter((line) -> !present.contains(line)).forEach((line) -> changes.add("gone: " + line));
		String advice = """
				The public API has changed, which applications are compiled against. If this is intended, copy
				%s to %s in verification/application, and describe it in CHANGELOG.md""".formatted(target, source);
		assertThat(changes).as(advice).isEmpty();
		assertThat(present).as(advice).isNotEmpty().isEqualTo(expected);
	}

	@Test
	void isNotInTheModuleOfTheStores() {
		assertThat(api("postgresql")).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "core", "spring", "schedule", "autoconfigure", "test" })
	void isCoveredByJavadoc(String module) throws IOException {
		String pom = Files.readString(ROOT.resolve("leader-election-" + module + "/pom.xml"));
		List<String> excluded = elements(pom, "excludePackageNames").flatMap((names) -> Arrays.stream(names.split(":")))
			.map((name) -> name.replace(".", "\\.").replace("*", ".+"))
			.toList();
		assertThat(api(module).map(JavaClass::getPackageName))
			.allSatisfy((name) -> assertThat(excluded).noneMatch(name::matches));
	}

	@Test
	void isComparedWithTheLastRelease() throws IOException {
		Stream<String> compared = elements(Files.readString(ROOT.resolve("pom.xml")), "include")
			.filter((name) -> name.startsWith(ArchitectureTests.BASE));
		assertThat(compared).containsExactlyInAnyOrderElementsOf(ArchitectureTests.apiNames());
	}

	private static Stream<String> elements(String pom, String name) {
		return Pattern.compile("<" + name + ">(.+)</" + name + ">")
			.matcher(pom)
			.results()
			.map((match) -> match.group(1));
	}

	private static Stream<JavaClass> api(String module) {
		return ArchitectureTests.classes.stream()
			.filter((type) -> ArchitectureTests.isApi(type) && ArchitectureTests.module(type).equals(module))
			.sorted(Comparator.comparing(JavaClass::getName));
	}

	/**
	 * Return a line for a type, and one for each member that is visible outside its
	 * package.
	 */
	private static Stream<String> signatures(Class<?> type) {
		Stream<String> members = Stream
			.<Member[]>of(type.getDeclaredConstructors(), type.getDeclaredMethods(), type.getDeclaredFields())
			.flatMap(Arrays::stream)
			.filter((member) -> isVisible(member.getModifiers()) && !member.isSynthetic())
			.map((member) -> "\t" + signature(member))
			.sorted();
		Stream<String> nested = Arrays.stream(type.getDeclaredClasses())
			.filter((other) -> isVisible(other.getModifiers()))
			.sorted(Comparator.comparing(Class::getName))
			.flatMap(PublicApiTests::signatures);
		return Stream.of(Stream.of(header(type)), members, nested)
			.flatMap(Function.identity())
			.map((line) -> line.replaceAll("\\bjava\\.lang\\.(?=[A-Z])", ""));
	}

	private static boolean isVisible(int modifiers) {
		return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
	}

	private static String header(Class<?> type) {
		Stream<String> components = Stream.ofNullable(type.getRecordComponents())
			.flatMap(Arrays::stream)
			.map((component) -> component.getGenericType().getTypeName() + " " + component.getName());
		Stream<Class<?>> permitted = Stream.ofNullable(type.getPermittedSubclasses()).flatMap(Arrays::stream);
		// Only later JDKs have the modifier sealed here. The permitted types say the
		// same.
		return type.toGenericString().replaceAll("(non-)?sealed ", "") + list(" components ", components)
				+ list(" extends ", Stream.ofNullable(type.getGenericSuperclass()).map(Type::getTypeName))
				+ list(" implements ", Arrays.stream(type.getGenericInterfaces()).map(Type::getTypeName))
				+ list(" permits ", permitted.filter((other) -> isVisible(other.getModifiers())).map(Class::getName));
	}

	private static String signature(Member member) {
		if (member instanceof Field field) {
			return field.toGenericString();
		}
		Executable executable = (Executable) member;
		Object defaultValue = (member instanceof Method method) ? method.getDefaultValue() : null;
		AnnotatedType[] parameters = executable.getAnnotatedParameterTypes();
		Stream<String> nullable = IntStream.range(0, parameters.length)
			.filter((i) -> isNullable(parameters[i]))
			.mapToObj((i) -> "parameter " + (i + 1));
		return executable.toGenericString()
				+ list(" default ",
						Stream.ofNullable(defaultValue).map((value) -> Arrays.deepToString(new Object[] { value })))
				+ (isNullable(executable.getAnnotatedReturnType()) ? " @Nullable result" : "")
				+ list(" @Nullable ", nullable);
	}

	private static boolean isNullable(AnnotatedType type) {
		return type.isAnnotationPresent(Nullable.class);
	}

	private static String list(String prefix, Stream<String> elements) {
		String list = elements.collect(Collectors.joining(", "));
		return list.isEmpty() ? "" : prefix + list;
	}

}
