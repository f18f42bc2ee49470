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

package io.leaderelection.autoconfigure;

import java.math.BigInteger;
import java.util.Locale;

import io.leaderelection.annotation.InvalidUsageException;

/**
 * Parses 64-bit lock ids, signed or unsigned, decimal or hexadecimal.
 */
final class LockId {

	private LockId() {
	}

	/**
	 * Parse a lock id.
	 * @param property the name of the property
	 * @param value the value
	 * @return the lock id
	 * @throws InvalidUsageException if the value is not a lock id
	 */
	static long parse(String property, String value) {
		String text = value.trim().toLowerCase(Locale.ROOT);
		boolean hex = text.startsWith("0x");
		if (!text.matches(hex ? "0x[0-9a-f]+" : "-?[0-9]+")) {
			throw new InvalidUsageException(property, value, "It is not a number.",
					"Set a decimal number, or a hexadecimal number with the prefix 0x, for instance 0x434944585F4C4452.");
		}
		BigInteger number = hex ? new BigInteger(text.substring(2), 16) : new BigInteger(text);
		if (number.bitLength() > ((number.signum() < 0) ? Long.SIZE - 1 : Long.SIZE)) {
			throw new InvalidUsageException(property, value,
					"It does not fit in the 64 bits of a PostgreSQL advisory lock.",
					"Set a number from -9223372036854775808 to 18446744073709551615, or up to 16 hexadecimal digits.");
		}
		return number.longValue();
	}

}
