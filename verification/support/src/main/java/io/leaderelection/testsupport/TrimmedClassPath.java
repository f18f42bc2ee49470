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

package io.leaderelection.testsupport;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The class path of the tests without some of its libraries, for processes that run on
 * any JDK.
 */
public final class TrimmedClassPath {

	private static final String OURS = "leader-election-";

	private static final Duration LIMIT = Duration.ofMinutes(2);

	private final List<File> entries;

	private TrimmedClassPath(Predicate<String> kept) {
		this.entries = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
			.map(File::new)
			.filter((file) -> isKept(file, kept))
			.toList();
	}

	/**
	 * Leave libraries away.
	 * @param libraries matches the beginnings of their file names, or of the names of our
	 * modules
	 * @return the class path
	 */
	public static TrimmedClassPath without(String libraries) {
		Pattern pattern = Pattern.compile(libraries);
		return new TrimmedClassPath((name) -> !pattern.matcher(name).lookingAt());
	}

	/**
	 * Leave all libraries away but some.
	 * @param libraries matches the beginnings of their file names
	 * @return the class path
	 */
	public static TrimmedClassPath only(String libraries) {
		Pattern pattern = Pattern.compile(libraries);
		return new TrimmedClassPath((name) -> pattern.matcher(name).lookingAt());
	}

	private static boolean isKept(File entry, Predicate<String> kept) {
		String name = entry.isDirectory() ? module(entry) : entry.getName();
		return !name.startsWith(OURS) && entry.isDirectory() || kept.test(name);
	}

	/**
	 * Return the module of a folder like {@code target/classes}, which Maven's test phase
	 * has instead of its archive.
	 */
	private static String module(File classes) {
		return classes.getParentFile().getParentFile().getName();
	}

	/**
	 * Return whether a class is there.
	 * @param type the name of the class
	 * @return whether it is
	 */
	public boolean has(String type) {
		URL[] urls = this.entries.stream().map(File::toURI).map(TrimmedClassPath::url).toArray(URL[]::new);
		try (URLClassLoader classLoader = new URLClassLoader(urls, null)) {
			return classLoader.findResource(type.replace('.', '/') + ".class") != null;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static URL url(URI uri) {
		try {
			return uri.toURL();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Run a class with this class path to its end.
	 * @param jdk where it runs
	 * @param mainClass the class to run
	 * @param arguments its arguments
	 * @param directory the working directory, which also receives the output
	 * @return the process, which has ended
	 */
	public ClassPathProcess run(Jdk jdk, String mainClass, List<String> arguments, Path directory)
			throws IOException, InterruptedException {
		List<String> command = new ArrayList<>(List.of(jdk.java().toString(), "-XX:TieredStopAtLevel=1",
				"-XX:+UseSerialGC", "-cp",
				this.entries.stream().map(File::getPath).collect(Collectors.joining(File.pathSeparator)), mainClass));
		command.addAll(arguments);
		return ClassPathProcess.run(command, directory, LIMIT);
	}

}
