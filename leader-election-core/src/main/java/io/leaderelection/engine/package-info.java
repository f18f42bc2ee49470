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

/*
 * The election
 * ============
 *
 * The lock. The holder of the lock of the store may lead. If a session sends nothing for
 * a lease, the store ends the session and frees its lock. A node therefore trusts its
 * leadership only until the start of its last successful confirmation plus three quarters
 * of the lease. The store starts its timeout no earlier than the start of the
 * confirmation, whatever happens to the reply. Trust therefore ends before another node
 * can win the lock. Trust never counts from the reply: a reply may be read an hour after
 * it was sent.
 *
 * The state. All visible state is one immutable ElectionState in one volatile field of
 * Election. Reads take no lock. Transitions are functions from a state to the next
 * one (Transitions). Election.apply applies them under one lock, on the thread that is
 * first to make the transition:
 *
 *   begin            Stopped -> Following   the election thread, at start
 *   elect            Following -> Elected   the election thread, when it has won the lock
 *   grant            Elected -> Leading     the election thread, when no session, lock or
 *                                           fenced transaction of an earlier term is left
 *   resign, stop     Leading -> HandingOver any thread: the gate is closed from now on. Of
 *                                           an elected node: it is not granted leadership
 *   notifyListeners  HandingOver            the election thread, when no work is in
 *                                           flight: revoked event
 *   endTrust         HandingOver -> Ended   the election thread, when the listeners have
 *                                           returned; the lock is freed after this
 *                                           transition, never before. Both have time limits
 *   lose, expire     granted -> Ended       the election thread when the session has
 *                                           ended, or the watchdog when trust has expired:
 *                                           revoked event, unless enqueued
 *   handedOver       Ended or Elected       the election thread, when the lock is free or
 *                      -> Following         the session has ended on this side
 *   end              any -> Stopped         the election thread, at the end of a stop
 *
 * "Granted" is each of Leading and HandingOver. A position has what exists in it
 * only: the end of trust, the hand-over, the loss. All of it is therefore of one term, and
 * is gone with it. A transition names what it causes (ElectionEffects.Effects), which happens
 * under the same lock. Granted and revoked events therefore alternate
 * and are in order, whichever thread makes the transition.
 *
 * The threads. The election thread (ElectionLoop) owns the session and is the only thread
 * that calls it, except to wake or abort it. It may block in a socket, so nothing that
 * must happen on time depends on it. The watchdog (one for all elections) ends leadership
 * whose trust has expired, and aborts a session whose call takes too long. It logs
 * nothing, runs no code of the application and waits for no lock that is held for long.
 * One thread runs listeners, and one runs cancellations, either of which may block. One
 * makes the interrupts of the node (Interrupter), since an interrupt closes the channel in
 * which a thread waits, and this may block as well; a second one makes them while the
 * first hangs. What is interrupted waits at its end for an interrupt that is being made,
 * for drain-timeout at most, so that this reaches nothing later. All these threads but the
 * second one for interrupts exist from the start to the end of a participation, and go on
 * after every failure. Requests to other nodes share a thread, which exists when needed;
 * each resignation is completed on a thread of its own. Work runs on the threads of the
 * application.
 *
 * Without memory. The next state and its events are allocated before it is written, so a
 * lack of memory changes nothing, and the thread tries again. Only trust may end before
 * its transition, without the lock. What holds after an OutOfMemoryError: isLeader() is
 * false in time, since it compares clocks and allocates nothing; the rules that the next
 * leader follows do not depend on this process; and the store ends the session after a
 * lease. Order and completeness of events, and the interrupts of work, hold unless the
 * process is out of memory.
 *
 * Before the grant. The winner waits for two conditions, in this order: no session holds a
 * lock of an earlier term (a session that ends frees its locks one by one); every fenced
 * transaction of earlier terms has ended. The store may have verified both when the lock
 * was won. The takeover delay runs beside them (if the store has ended the session of a
 * leader, that leader may need some time to notice it). Shortly before its end, the winner
 * confirms, and the trust of the grant counts from the start of that confirmation. What it
 * finds remains so while the winner holds the lock.
 *
 * The fence. A process can pause between its decision and its commit, and its trust can
 * expire meanwhile. The last step of a transaction of leader work before its commit is
 * therefore to take a shared lock on the fence, and then to verify that its own term still
 * holds its lock. The winner of every later term must hold the fence exclusively once.
 * Because of this order, either the winner waits for the end of the transaction, or the
 * transaction finds that its term has ended, and is rolled back.
 *
 * Handing over. The intent is one value, the HandOver: its reason, when it interrupts
 * work, and who waits for it. A stop is an intent of its own, with a deadline, since a
 * node may stop that holds no lock. The gate counts a call first
 * and checks leadership second, whereas a transition changes the state first and its
 * thread counts work second. A drain therefore never misses work that has just begun.
 * Confirmations continue while work drains: the work still runs under a trusted lease. The
 * lock is freed last. If the lease is lost meanwhile, there is no lock left to hand over,
 * and the hand-over becomes a loss.
 *
 * After a loss. The session is aborted and the work of the old term is interrupted. The
 * node is not a candidate again before that work has ended, for which it waits for
 * drain-timeout or 2 s at most, whichever is longer. A late confirmation never revives a term: the node must acquire the
 * lock again, in a new term.
 *
 * Suspension. A node suspends its candidacy in four cases: its application is unhealthy,
 * leader-only services could not be started, it has resigned and lets other candidates go
 * first, or it does not lead and a node that leads fewer elections should win. It
 * hands over, does not wait for the lock and only observes. This ends when its time is
 * over, when the cause has ended, when a successor was observed after a resignation, or,
 * after a resignation or a failed start of services, when no other node can lead.
 *
 * Requests. Any node may request that the leader resigns. It does so aside, without its
 * session, until the term has ended or for a few seconds. The request contains the
 * leader's term, so that it can never end a later one. The leader finds it with its next
 * confirmation and resigns as after a local call.
 *
 * Watching. A store may limit the number of candidates, and may be observed without a
 * session. A node then begins without one, and opens one when it may be admitted as a
 * candidate. If it is not admitted, it closes the session and watches again. So does a
 * node whose candidacy is suspended, except after a resignation, and a node that is no
 * candidate never opens a session. Admission has no effect on safety: all rules above
 * apply among the sessions that were admitted.
 *
 * Observation. The reply of the store to a wait, an observation or a confirmation also
 * says which sessions lead and are candidates. The names of their nodes are queried only
 * when these sessions have changed, and by a leader only after its trust has been
 * extended. Trust therefore never depends on that query.
 *
 * Participations. Each start() begins one, and stop() ends it. A start during an
 * unfinished stop begins another one on the same thread when the stop is complete. Each
 * turn of the loop has one session, in which the phases follow each other: FollowerPhase,
 * LeaderPhase, HandOverPhase.
 */
/**
 * The election: its states and transitions, its phases, the work gate and the watchdog.
 * Of SQL, it knows no more than that fenced transactions have connections, and of Spring,
 * nothing. Internal: types are public only for other modules.
 */
@NullMarked
package io.leaderelection.engine;

import org.jspecify.annotations.NullMarked;
