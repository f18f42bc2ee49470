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

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Compiles sources without annotation processors.
 */
public final class SourceCompiler {

	private SourceCompiler() {
	}

	/**
	 * Compile source files.
	 * @param sources the files
	 * @param classes the directory that receives the classes
	 * @param classPath the class path
	 * @param options further options of the compiler
	 * @return the errors
	 */
	public static List<String> compile(Collection<Path> sources, Path classes, String classPath, String... options)
			throws IOException {
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
		List<String> all = new ArrayList<>(List.of("-proc:none", "-d", classes.toString(), "-cp", classPath));
		all.addAll(List.of(options));
		try (StandardJavaFileManager files = compiler.getStandardFileManager(diagnostics, null,
				StandardCharsets.UTF_8)) {
			compiler.getTask(null, files, diagnostics, all, null, files.getJavaFileObjectsFromPaths(sources)).call();
		}
		return diagnostics.getDiagnostics()
			.stream()
			.filter((diagnostic) -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
			.map(Object::toString)
			.toList();
	}

}
