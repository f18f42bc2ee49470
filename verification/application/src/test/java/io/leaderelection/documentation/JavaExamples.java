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

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;

import com.sun.source.util.JavacTask;
import io.leaderelection.documentation.JavaExample.Form;
import io.leaderelection.documentation.Markdown.CodeBlock;

/**
 * The examples in Java of documents, compiled with the class path of the tests.
 */
final class JavaExamples implements AutoCloseable {

	private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();

	// Only compiled against
	private static final Path SPRING_CLOUD_KUBERNETES = Path.of("target", "migration",
			"spring-cloud-kubernetes-commons.jar");

	private final DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();

	private final Path classes;

	private final List<JavaExample> examples;

	private final URLClassLoader classLoader;

	JavaExamples(List<CodeBlock> blocks, Path classes) {
		this.classes = classes;
		this.examples = blocks.stream().map(JavaExamples::example).toList();
		COMPILER.getTask(null, null, this.diagnostics, options(classes), null, this.examples).call();
		try {
			this.classLoader = new URLClassLoader(new URL[] { classes.toUri().toURL() }, getClass().getClassLoader());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static List<String> options(Path classes) {
		return List.of("-proc:none", "-parameters", "--release", "17", "-classpath",
				System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
						+ File.pathSeparator + SPRING_CLOUD_KUBERNETES,
				"-d", classes.toString());
	}

	private static JavaExample example(CodeBlock block) {
		List<JavaExample> readings = JavaExample.readings(block);
		return readings.stream()
			.filter(JavaExamples::isWellFormed)
			.findFirst()
			.orElseGet(() -> readings.get(readings.size() - 1));
	}

	private static boolean isWellFormed(JavaExample example) {
		DiagnosticCollector<JavaFileObject> errors = new DiagnosticCollector<>();
		try {
			((JavacTask) COMPILER.getTask(null, null, errors, List.of("--release", "17"), null, List.of(example)))
				.parse();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		return errors.getDiagnostics().isEmpty();
	}

	List<JavaExample> all() {
		return this.examples;
	}

	ClassLoader classLoader() {
		return this.classLoader;
	}

	/**
	 * What the compiler says against an example, with the numbers of the lines.
	 */
	List<String> errors(JavaExample example) {
		return this.diagnostics.getDiagnostics()
			.stream()
			.filter((diagnostic) -> diagnostic.getKind() == Diagnostic.Kind.ERROR && isIn(example, diagnostic))
			.map((diagnostic) -> "line " + diagnostic.getLineNumber() + ": " + diagnostic.getMessage(Locale.ROOT))
			.toList();
	}

	private static boolean isIn(JavaExample example, Diagnostic<? extends JavaFileObject> diagnostic) {
		return diagnostic.getSource() != null && diagnostic.getSource().toUri().equals(example.toUri());
	}

	/**
	 * The classes of the examples of some form that can be beans.
	 */
	List<Class<?>> classes(Form form) {
		List<Class<?>> classes = new ArrayList<>();
		for (JavaExample example : this.examples) {
			if (example.form() == form) {
				classes(example).stream()
					.filter((type) -> !type.isInterface() && !Modifier.isAbstract(type.getModifiers()))
					.forEach(classes::add);
			}
		}
		return classes;
	}

	private List<Class<?>> classes(JavaExample example) {
		Path folder = this.classes.resolve(example.packageName().replace('.', File.separatorChar));
		if (!Files.exists(folder)) {
			return List.of(); // does not compile
		}
		try (Stream<Path> files = Files.list(folder)) {
			List<Class<?>> classes = new ArrayList<>();
			for (Path file : files.sorted().toList()) {
				String name = file.getFileName().toString().replace(".class", "");
				classes.add(Class.forName(example.packageName() + "." + name, false, this.classLoader));
			}
			return classes;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (ClassNotFoundException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() throws IOException {
		this.classLoader.close();
	}

}
