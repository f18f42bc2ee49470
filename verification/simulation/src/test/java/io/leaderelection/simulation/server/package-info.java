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

/**
 * A simulated PostgreSQL server: those parts of it that an election uses, as data and
 * events on virtual time. It has no threads and no clock of its own; the same events in
 * the same order give the same history.
 * <h2>What is modelled</h2>
 * <ul>
 * <li>Advisory locks as in {@code lock.c} and {@code proc.c}: both spaces of keys, shared
 * and exclusive, of the session and of the transaction, counted; the order of the queue;
 * a session that already holds a lock and goes ahead of those who wait for it; whom a
 * release or the end of a wait wakes; the deadlock that is found on entering a queue; a
 * try-lock that never overtakes a waiter (before version 17, not even one that it goes
 * ahead of).</li>
 * <li>Sessions: requests one after the other, transactions, savepoints, settings of the
 * session and of the transaction. A statement is a program of steps. Between two steps
 * other sessions run, the process may be cancelled, terminated or stopped, and the client
 * may leave; the statement takes effect nevertheless.</li>
 * <li>A lock that is granted while a timeout or a cancel request is under way (H1): until
 * the process has its turn, the statement fails although the lock is held.</li>
 * <li>Transaction ids, and how much of the write-ahead log is durable (H2): a crash
 * forgets the ids of which no durable record tells, and issues them again.</li>
 * <li>The end of a session (H3): first the client is told, then the locks are freed one
 * partition of the lock table after the other, first those of the transaction; then the
 * end is counted by its cause, and then the process is gone. Each of these is a step that
 * others may come before. A transaction reads the counters once.</li>
 * <li>{@code lock_timeout}, {@code statement_timeout}, both idle timeouts and
 * {@code client_connection_check_interval}, on a wall clock that has a rate and may be
 * set (H5): a timer is due by that clock, but looked at only when an alarm comes.</li>
 * <li>The table of leases: versions of rows, snapshots, locks on rows that no statement
 * waits for, which version a crash and a promotion bring back, and notifications.</li>
 * <li>Half a request of the extended protocol, during which no timeout runs.</li>
 * <li>Stopped processes, crash, clean stop, restart; a standby, which has locks but no
 * transaction ids, and its promotion, with what it has not replayed lost.</li>
 * </ul>
 * <h2>What is not</h2>
 * <ul>
 * <li>Other tables, and waits for the insertion of a row; the durability of the table of
 * candidates; logging, roles and privileges; more than one database; limits of the lock
 * table; poolers; prepared transactions.</li>
 * <li>The check for deadlocks after {@code deadlock_timeout}, which also reorders queues:
 * no wait of the library is that long.</li>
 * <li>A transaction id of a subtransaction. None of the statements assigns one.</li>
 * <li>{@code tcp_user_timeout} and keep-alive, which end a session no earlier than the
 * idle timeout does, and a process that hangs while it sends.</li>
 * <li>A connection that breaks for the server only, so that it takes a client for gone
 * that lives. How a session has ended does not tell about such a client.</li>
 * <li>Synchronous replication, and the time that it takes to make a commit durable.</li>
 * </ul>
 * <h2>What holds it to reality</h2> {@code LockComparisonTests} runs random operations,
 * {@code EventComparisonTests} timeouts, signals and crashes, and
 * {@code io.leaderelection.postgresql.advisory.ElectionComparisonTests} the statements of
 * the library, on both this server and a PostgreSQL of any supported version, and
 * {@code io.leaderelection.postgresql.table.TableComparisonTests} those on the table.
 */
@NullMarked
package io.leaderelection.simulation.server;

import org.jspecify.annotations.NullMarked;
