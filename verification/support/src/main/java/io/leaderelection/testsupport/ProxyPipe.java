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
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

import org.jspecify.annotations.Nullable;

/**
 * One direction of a {@link ProxyConnection}.
 */
final class ProxyPipe {

	private static final int READ_AT_ONCE = 64 * 1024;

	private static final long CAPACITY = 16 * 1024 * 1024;

	private static final int UNCUT = -1;

	private final Link link;

	private final Deque<Piece> underWay = new ArrayDeque<>();

	private long bytesUnderWay;

	private int passing = UNCUT;

	private boolean lost;

	private boolean ended;

	private boolean waitsForRoom;

	private boolean finished;

	ProxyPipe(Link link) {
		this.link = link;
	}

	boolean isHeld() {
		return this.link.held;
	}

	boolean hasLost() {
		return this.lost;
	}

	/**
	 * Whether the sender has ended its side.
	 */
	boolean hasEnded() {
		return this.ended;
	}

	/**
	 * Whether the receiver has learned of the end.
	 */
	boolean isFinished() {
		return this.finished;
	}

	boolean wantsToRead() {
		return !this.ended && (this.bytesUnderWay < CAPACITY);
	}

	boolean waitsForRoom() {
		return this.waitsForRoom;
	}

	/**
	 * The nanoseconds until the next bytes arrive.
	 */
	long nextDue() {
		if (this.underWay.isEmpty() || this.link.held || this.waitsForRoom) {
			return Long.MAX_VALUE;
		}
		return Math.max(0, this.underWay.peek().sent() + this.link.delay - System.nanoTime());
	}

	void cutAfter(int bytes) {
		this.passing = bytes;
	}

	void restore() {
		this.passing = UNCUT;
	}

	void loseAll() {
		this.lost |= !this.underWay.isEmpty();
		clear();
	}

	/**
	 * Deliver nothing from now on: there is no receiver.
	 */
	void abandon() {
		this.finished = true;
		clear();
	}

	void read(SocketChannel from) {
		ByteBuffer bytes = ByteBuffer.allocate(READ_AT_ONCE);
		try {
			if (from.read(bytes) < 0) {
				end(false);
				return;
			}
		}
		catch (IOException ex) {
			end(true);
			return;
		}
		send(Arrays.copyOf(bytes.array(), bytes.position()));
	}

	void end(boolean reset) {
		this.ended = true;
		if (vanishes()) {
			this.lost = true;
		}
		else if (!this.finished) {
			this.underWay.add(new Piece(null, reset, System.nanoTime()));
		}
	}

	Outcome write(SocketChannel to) {
		this.waitsForRoom = false;
		try {
			while (!this.waitsForRoom && nextDue() == 0) {
				Piece piece = this.underWay.peek();
				if (piece.bytes() != null) {
					this.bytesUnderWay -= to.write(piece.bytes());
					this.waitsForRoom = piece.bytes().hasRemaining();
				}
				else if (piece.reset()) {
					return Outcome.RESET;
				}
				else {
					to.shutdownOutput();
					this.finished = true;
				}
				if (!this.waitsForRoom) {
					this.underWay.remove();
				}
			}
			return Outcome.WRITTEN;
		}
		catch (IOException ex) {
			abandon();
			return Outcome.BROKEN;
		}
	}

	private void send(byte[] bytes) {
		int passes = vanishes() ? 0 : bytes.length;
		if (this.passing != UNCUT) {
			passes = Math.min(passes, this.passing);
			this.passing -= passes;
		}
		this.lost |= passes < bytes.length;
		if (passes > 0 && !this.finished) {
			this.underWay.add(new Piece(ByteBuffer.wrap(bytes, 0, passes), false, System.nanoTime()));
			this.bytesUnderWay += passes;
		}
	}

	private boolean vanishes() {
		return this.link.blackHole || this.passing == 0;
	}

	private void clear() {
		this.underWay.clear();
		this.bytesUnderWay = 0;
		this.waitsForRoom = false;
	}

	/**
	 * What came of writing.
	 */
	enum Outcome {

		WRITTEN, RESET, BROKEN

	}

	/**
	 * The state of the network in one direction.
	 */
	static final class Link {

		boolean blackHole;

		boolean held;

		long delay;

	}

	private record Piece(@Nullable ByteBuffer bytes, boolean reset, long sent) {

	}

}
