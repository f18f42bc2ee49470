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

package io.leaderelection.demo;

import java.io.IOException;

import io.leaderelection.sample.SampleApplication;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.context.WebServerPortFileWriter;

/**
 * A node of the demo: the sample, with {@link DemoWork more to do}. It ends with its
 * input, which is when the launcher is gone.
 */
public final class DemoNode {

	private DemoNode() {
	}

	/**
	 * Start a node.
	 * @param args the file to write the port to, and the command line of the sample
	 */
	public static void main(String[] args) {
		Background.start("demo-watch", DemoNode::endWithInput);
		SpringApplication application = new SpringApplication(SampleApplication.class, DemoWork.class);
		application.addListeners(new WebServerPortFileWriter(args[0]));
		application.run(args);
	}

	private static void endWithInput() {
		try {
			while (System.in.read() != -1) {
				// Nothing is sent here
			}
		}
		catch (IOException ex) {
			// The same as its end
		}
		Runtime.getRuntime().halt(1);
	}

}
