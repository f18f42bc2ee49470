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

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The {@code socketFactory} of connections whose round trips are to be counted, each a
 * wait for the server after something was sent.
 */
public final class RoundTrips extends DriverSocketFactory {

	private static final AtomicInteger count = new AtomicInteger();

	public static int count() {
		return count.get();
	}

	@Override
	public Socket createSocket() {
		return new CountingSocket();
	}

	/**
	 * Counts how often it is read after it was written.
	 */
	private static final class CountingSocket extends Socket {

		private boolean written;

		@Override
		public InputStream getInputStream() throws IOException {
			return new FilterInputStream(super.getInputStream()) {

				@Override
				public int read(byte[] bytes, int offset, int length) throws IOException {
					if (CountingSocket.this.written) {
						CountingSocket.this.written = false;
						count.incrementAndGet();
					}
					return super.read(bytes, offset, length);
				}

			};
		}

		@Override
		public OutputStream getOutputStream() throws IOException {
			return new FilterOutputStream(super.getOutputStream()) {

				@Override
				public void write(byte[] bytes, int offset, int length) throws IOException {
					CountingSocket.this.written = true;
					this.out.write(bytes, offset, length);
				}

			};
		}

	}

}
