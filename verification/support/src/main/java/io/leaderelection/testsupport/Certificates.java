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
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

import org.springframework.util.Assert;

/**
 * The certificate of a server whose only name is {@code localhost}, which is its own
 * authority, made by the {@code keytool} of this JDK.
 */
public final class Certificates {

	private static final String ALIAS = "server";

	private static final String PASSWORD = "secret";

	private final Path folder;

	/**
	 * Create a new {@code Certificates} instance.
	 * @param folder the folder for the files, which must be empty
	 */
	public Certificates(Path folder) {
		this.folder = folder;
		Path file = folder.resolve("server.p12");
		keytool("-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-ext", "san=dns:localhost", "-ext",
				"bc:c=ca:true", "-alias", ALIAS, "-keystore", file.toString(), "-storetype", "PKCS12", "-storepass",
				PASSWORD);
		try (InputStream input = Files.newInputStream(file)) {
			KeyStore store = KeyStore.getInstance("PKCS12");
			store.load(input, PASSWORD.toCharArray());
			write(authority(), "CERTIFICATE", store.getCertificate(ALIAS).getEncoded());
			// The server refuses a key that others can read
			Files.createFile(key(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
			write(key(), "PRIVATE KEY", store.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * The settings with which a server offers TLS.
	 */
	public String[] serverSettings() {
		return new String[] { "ssl=on", "ssl_cert_file=" + authority(), "ssl_key_file=" + key() };
	}

	/**
	 * The certificate of the authority, for clients.
	 */
	public Path authority() {
		return this.folder.resolve("server.crt");
	}

	private Path key() {
		return this.folder.resolve("server.key");
	}

	private static void write(Path file, String type, byte[] encoded) throws IOException {
		String text = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(encoded);
		Files.writeString(file, "-----BEGIN " + type + "-----\n" + text + "\n-----END " + type + "-----\n");
	}

	private void keytool(String... arguments) {
		List<String> command = new ArrayList<>();
		command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
		command.addAll(List.of(arguments));
		try {
			ClassPathProcess process = ClassPathProcess.run(command, this.folder, Duration.ofSeconds(60));
			Assert.state(process.status() == 0, () -> command + " failed: " + process.output());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

}
