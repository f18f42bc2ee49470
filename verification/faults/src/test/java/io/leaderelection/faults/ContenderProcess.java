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

package io.leaderelection.faults;

import java.io.OutputStream;
import java.sql.DriverManager;
import java.util.Properties;

import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;

/**
 * A contender in a process of its own, which prints what it has won.
 */
public final class ContenderProcess {

	private ContenderProcess() {
	}

	public static void main(String[] arguments) throws Exception {
		String url = arguments[0];
		Properties login = new Properties();
		login.setProperty("user", arguments[1]);
		login.setProperty("password", arguments[2]);
		ConnectionSource source = (settings) -> {
			Properties properties = new Properties();
			properties.putAll(settings);
			properties.putAll(login);
			return DriverManager.getConnection(url, properties);
		};
		new Contender("process", ElectionKeys.ofLockId(Long.parseLong(arguments[3])), source,
				(win) -> System.out.println(win.format()))
			.contend();
		// Until it is killed, or this pipe is closed
		System.in.transferTo(OutputStream.nullOutputStream());
	}

}
