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
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The class path of the tests without some of its libraries. What it runs is loaded again
 * and from there only, classes of this project too: none of them finds a library that an
 * application does not have.
 */
public final class TrimmedClassPath implements AutoCloseable {

	private static final String OURS = "leader-election-";

	private final URLClassLoader classLoader;

	private TrimmedClassPath(Predicate<String> kept) {
		this.classLoader = new URLClassLoader(entries(kept), ClassLoader.getPlatformClassLoader());
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

	private static URL[] entries(Predicate<String> kept) {
		List<URL> entries = new ArrayList<>();
		for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
			File file = new File(entry);
			String name = file.isDirectory() ? module(file) : file.getName();
			if (!name.startsWith(OURS) && file.isDirectory() || kept.test(name)) {
				entries.add(url(file));
			}
		}
		return entries.toArray(URL[]::new);
	}

	/**
	 * Return the module of a folder like {@code target/classes}, which Maven's test phase
	 * has instead of its archive.
	 */
	private static String module(File classes) {
		return classes.getParentFile().getParentFile().getName();
	}

	private static URL url(File file) {
		try {
			return file.toURI().toURL();
		}
		catch (MalformedURLException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return whether a class is there.
	 * @param type the name of the class
	 * @return whether it is
	 */
	public boolean has(String type) {
		try {
			Class.forName(type, false, this.classLoader);
			return true;
		}
		catch (ClassNotFoundException ex) {
			return false;
		}
	}

	/**
	 * Call {@code run} of a class that is loaded from this class path.
	 * @param application the class to load again
	 * @param arguments what to call it with
	 * @return what it returns
	 * @throws Throwable what it throws
	 */
	public String run(Class<?> application, String... arguments) throws Throwable {
		Thread thread = Thread.currentThread();
		ClassLoader before = thread.getContextClassLoader();
		thread.setContextClassLoader(this.classLoader);
		try {
			Method run = Class.forName(application.getName(), true, this.classLoader)
				.getDeclaredMethod("run", String[].class);
			run.setAccessible(true);
			return (String) run.invoke(null, (Object) arguments);
		}
		catch (InvocationTargetException ex) {
			throw ex.getTargetException();
		}
		finally {
			thread.setContextClassLoader(before);
		}
	}

	@Override
	public void close() throws IOException {
		this.classLoader.close();
	}

}
