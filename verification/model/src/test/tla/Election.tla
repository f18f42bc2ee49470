------------------------------ MODULE Election ------------------------------
(***************************************************************************)
(* The election: candidates, the server that holds the locks, and a        *)
(* transaction of leader work.  One action is one step of the code between *)
(* two points at which another process may act.                            *)
(* docs/internals/verification.md names the method and the statement that  *)
(* implement each action.                                                  *)
(*                                                                         *)
(* Freeze and cut.  No action has to be taken.  A node that is frozen, a   *)
(* process that is paused between two instructions, and a message that is  *)
(* late are a node that takes no step while others do.                     *)
(*                                                                         *)
(* Time.  Tick is the passing of one unit of time for everybody.  A time   *)
(* that is measured on a clock of bounded drift is between a minimum and a *)
(* maximum number of ticks:                                                *)
(*   the lease, on the server:           Lease .. any number               *)
(*   three quarters of it, on a node:    1 .. Trust                        *)
(*   the takeover delay, on a node:      Delay .. any number               *)
(* Trust <= Lease says that three quarters of the lease on the slowest     *)
(* node are not longer than the lease on the fastest server: each of these *)
(* clocks may be off by one seventh.  Without Clocks everything that waits *)
(* for a time may happen at any time: guarantees that must not depend on   *)
(* clocks are checked in that larger world, which has fewer states.        *)
(*                                                                         *)
(* Sessions.  A node has one session at a time.  A node that opens another *)
(* session before the server has ended the first is two nodes of the model.*)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
  Nodes,
  None,          \* no node
  MaxTerm,       \* the number of terms that are issued
  MaxCrashes,    \* the number of crashes of the server
  Clocks,        \* whether there is time
  Reopen,        \* whether nodes open sessions; otherwise each has one from the start
  HandOver,      \* whether nodes resign or stop
  Work,          \* whether there are leader work and its transaction
  LateWork,      \* whether work may pause at the gate beyond the end of its term
  Lease,         \* the shortest time after which the server ends a silent session
  Trust,         \* the longest time for which a confirmation is trusted
  Delay,         \* the shortest time that a takeover delay lasts
  Causes,        \* whether a winner asks why the session of its predecessor has ended
  Faults,        \* "SILENCE", "LOSS" and "CRASH" of nodes, "ENDED": the server ends the session
                 \* of a node that is alive
  PromptNotice,  \* the condition of G2: the node notices such an end before the next tick, so
                 \* within the takeover delay
  Mutant         \* a seeded mistake, or "NONE"

VARIABLES
  node,     \* what each node knows
  session,  \* what the server knows of the session of each node
  main,     \* the node whose session holds the main key
  xid,      \* the last transaction id that was assigned
  durable,  \* the last transaction id that a crash does not take back
  granted,  \* the greatest term that was granted
  tx,       \* one transaction of leader work
  crashes   \* how often the server has crashed

vars == <<node, session, main, xid, durable, granted, tx, crashes>>

Is(mutant) == Mutant = mutant

(***************************************************************************)
(* A node.  pos is the position of ElectionState, connected whether it has *)
(* a connection, call the statement that the session executes or whose     *)
(* reply is on its way:                                                    *)
(*   "idle"       none                                                     *)
(*   "based"      acquire: holds HEAD, and has read the baseline           *)
(*   "waiting"    acquire: in the queue for the main key                   *)
(*   "won"        acquire: holds the main key                              *)
(*   "keyed"      acquire: has looked, and holds the key of its term       *)
(*   "looked"     confirm found no earlier term: the barrier comes next    *)
(*   "confirming" confirm: has been sent                                   *)
(*   "confirmed"  confirm: the reply is on its way, or was read and the    *)
(*                takeover delay is not over                               *)
(*   "freeing"    release: has been sent                                   *)
(*   "marked"     release: has set the marker, if the hand-over is clean   *)
(*   "freeingMain" release: has freed the key of the term                  *)
(*   "freed"      release: waits for a successor                           *)
(* age is the time since the start of the confirmation that is trusted,    *)
(* sent that since the start of the confirmation in progress, waited that  *)
(* since the reply of the acquiring statement.                             *)
(* work is one unit of leader work, and seen the term that its first look  *)
(* has found:                                                              *)
(*   "none"       none                                                     *)
(*   "entering"   has looked, and is not counted yet                       *)
(*   "counted"    is counted, and has not looked again                     *)
(*   "running"    was admitted                                             *)
(* clean says that the winner need not wait for the takeover delay.        *)
(* In the acquiring statement, pred is the term of the predecessor if a    *)
(* baseline was read, and changed how the counters differ from it:         *)
(* "killed" and "fatal" are greater, "reset" is another time of the last   *)
(* reset.                                                                  *)
(* Values that nothing will read are set back, so that equal states are    *)
(* equal.                                                                  *)
(*                                                                         *)
(* A session.  state:                                                      *)
(*   "none"    there is none, its pid is gone                              *)
(*   "open"                                                                *)
(*   "ending"  frees its locks one by one                                  *)
(*   "freed"   has freed its locks, and is not counted yet                 *)
(* term is the term that it has won, until its pid is gone: always 0       *)
(* without Causes.  held is the time since it has won that term, toCount   *)
(* whether its end is to be counted, since the server has ended it.        *)
(***************************************************************************)
NewNode == [pos |-> "following", connected |-> FALSE, call |-> "idle", term |-> 0,
  clean |-> FALSE, clear |-> FALSE, blocked |-> FALSE,
  age |-> 0, sent |-> 0, waited |-> 0, work |-> "none", seen |-> 0, orderly |-> FALSE,
  pred |-> 0, changed |-> {}]

NewSession == [state |-> "none", key |-> 0, marker |-> FALSE, idle |-> 0,
  term |-> 0, held |-> 0, toCount |-> FALSE]

NoTx == [phase |-> "none", term |-> 0]

Init ==
  /\ node = [n \in Nodes |-> [NewNode EXCEPT !.connected = ~Reopen]]
  /\ session = [n \in Nodes |-> [NewSession EXCEPT !.state = IF Reopen THEN @ ELSE "open"]]
  /\ main = None
  /\ xid = 0 /\ durable = 0 /\ granted = 0 /\ crashes = 0
  /\ tx = NoTx

LongestTrust == IF Is("FULL_LEASE_TRUSTED") THEN Trust + 1 ELSE Trust

\* LeaderElector.isLeader()
IsLeader(n) == node[n].pos = "leading" /\ node[n].age < LongestTrust

IsOpen(n) == session[n].state = "open"

Others(n) == Nodes \ {n}

\* A transaction that shares the fence key
IsFenceShared == tx.phase \in {"shared", "passed"} /\ ~Is("OPEN_FENCE")

-----------------------------------------------------------------------------
(* Time *)

\* The node trusts its session, or is about to
Trusts(n) ==
  \/ IsLeader(n)
  \/ node[n].pos = "elected" /\ node[n].call = "confirmed" /\ node[n].sent < LongestTrust

\* The server has ended the session, and the node does not know.  G2_Silence says that this
\* is never a session that was silent for a lease.
IsUnaware(n) == ~IsOpen(n) /\ node[n].connected /\ Trusts(n)

Least(a, b) == IF a < b THEN a ELSE b

\* The server waits for a request of this session: its idle timer runs
IsSilent(n) ==
  IsOpen(n) /\ node[n].connected /\ node[n].call \in {"idle", "looked", "confirming", "confirmed", "freed"}

Tick ==
  /\ Clocks
  /\ PromptNotice => \A n \in Nodes : ~IsUnaware(n)
  /\ node' = [n \in Nodes |-> [node[n] EXCEPT
       !.age = IF node[n].pos = "leading" THEN Least(@ + 1, LongestTrust) ELSE @,
       !.sent = IF node[n].pos # "draining" /\ node[n].call \in {"confirming", "confirmed"} THEN Least(@ + 1, LongestTrust) ELSE @,
       !.waited = IF node[n].pos = "elected" THEN Least(@ + 1, Delay) ELSE @]]
  /\ session' = [n \in Nodes |-> [session[n] EXCEPT
       !.idle = IF IsSilent(n) THEN Least(@ + 1, Lease) ELSE @,
       !.held = IF session[n].term # 0 /\ session[n].key # 0 THEN Least(@ + 1, Delay) ELSE @]]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

-----------------------------------------------------------------------------
(* The end of a session *)

\* The session has freed its locks.  How a session without a term has ended does not matter:
\* to count it could only make a winner wait.
Freed(s) == IF s.toCount THEN [s EXCEPT !.state = "freed", !.held = 0] ELSE NewSession

ToEnd(n, byServer) ==
  /\ session' = [session EXCEPT ![n] =
       LET ending == [@ EXCEPT !.state = "ending", !.idle = 0, !.toCount = byServer /\ session[n].term # 0]
       IN IF main # n /\ @.key = 0 /\ ~@.marker THEN Freed(ending) ELSE ending]
  /\ UNCHANGED <<node, main, xid, durable, granted, tx, crashes>>

\* idle_session_timeout: the client has been silent for a lease
ServerEndsSilentSession(n) ==
  /\ IsOpen(n) /\ node[n].connected /\ (session[n].idle >= Lease \/ ~Clocks)
  /\ "SILENCE" \in Faults /\ ~Is("NO_IDLE_TIMEOUT")
  /\ ToEnd(n, TRUE)

\* The client has closed its end or has died, and the server finds out
ServerEndsClosedSession(n) == IsOpen(n) /\ ~node[n].connected /\ ToEnd(n, FALSE)

\* The server ends the session of a client that is alive
ServerEndsLiveSession(n) ==
  /\ "ENDED" \in Faults /\ Clocks /\ IsOpen(n) /\ node[n].connected
  /\ ToEnd(n, TRUE)

\* A dying session frees its locks one by one, in any order, and has then ended
FreeMain(n) ==
  /\ session[n].state = "ending" /\ main = n
  /\ main' = None
  /\ session' = [session EXCEPT ![n] = IF @.key = 0 /\ ~@.marker THEN Freed(@) ELSE @]
  /\ UNCHANGED <<node, xid, durable, granted, tx, crashes>>

FreeTermKey(n) ==
  /\ session[n].state = "ending" /\ session[n].key # 0
  /\ session' = [session EXCEPT ![n] =
       LET next == [@ EXCEPT !.key = 0] IN IF main # n /\ ~@.marker THEN Freed(next) ELSE next]
  /\ UNCHANGED <<node, main, xid, durable, granted, tx, crashes>>

FreeMarker(n) ==
  /\ session[n].state = "ending" /\ session[n].marker
  /\ session' = [session EXCEPT ![n] =
       LET next == [@ EXCEPT !.marker = FALSE] IN IF main # n /\ @.key = 0 THEN Freed(next) ELSE next]
  /\ UNCHANGED <<node, main, xid, durable, granted, tx, crashes>>

\* What a winner compares
Compared == {"killed", "fatal", "reset"} \
  {CASE Is("FATAL_IGNORED") -> "fatal" [] Is("RESET_IGNORED") -> "reset" [] OTHER -> "NONE"}

\* The counters change for the statements that have read their baseline.  A baseline that
\* differs is given up at once, unless a reset could hide this.
Change(to(_)) == node' = [n \in Nodes |->
  IF node[n].pred = 0 \/ node[n].call = "seen" THEN node[n]
  ELSE IF to(node[n].changed) \intersect Compared = {} \/ Is("RESET_IGNORED")
    THEN [node[n] EXCEPT !.changed = to(@)]
    ELSE [node[n] EXCEPT !.pred = 0, !.changed = {}]]

\* After its locks are free, the server counts why it has ended the session.  Then the pid
\* disappears.
Count(n) ==
  /\ session[n].state = "freed"
  /\ session' = [session EXCEPT ![n] = NewSession]
  /\ \E cause \in {"killed", "fatal"} : LET to(changed) == changed \union {cause} IN Change(to)
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* pg_stat_reset: the counters are 0, as they may have been in the baseline
ResetCounters ==
  /\ Causes /\ LET to(changed) == {"reset"} IN Change(to)
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

\* All sessions end, transactions are rolled back, ids that are not durable are forgotten
ServerCrashes ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ session' = [n \in Nodes |-> NewSession]
  /\ main' = None
  /\ xid' = durable
  /\ tx' = NoTx
  /\ UNCHANGED <<node, durable, granted>>

-----------------------------------------------------------------------------
(* The end of a leadership that cannot be handed over *)

\* What a session still executes when its client has gone
ServerExecutes == {"based", "seen", "waiting", "won", "keyed", "freeing", "marked", "freeingMain", "freed"}

\* Work that has not entered the gate by the end of its term may enter it later, or never
WorkAfterEnd(n) == IF node[n].work = "entering" /\ ~LateWork THEN "none" ELSE node[n].work

SeenBy(n, work) == IF work = "none" THEN 0 ELSE node[n].seen

Follow(n, work) ==
  /\ node' = [node EXCEPT ![n] = [NewNode EXCEPT
       !.call = IF node[n].call \in ServerExecutes THEN node[n].call ELSE "idle",
       !.orderly = node[n].orderly,
       !.work = work,
       !.seen = SeenBy(n, work),
       !.term = IF Is("TERM_BEFORE_LOCK") THEN node[n].term ELSE 0]]
  /\ session' = [session EXCEPT ![n].idle = 0]

\* Trust has expired, a call has failed, or the end of the session was noticed: first the
\* node follows, then its connection is aborted.  Its work is interrupted, but may go on.
Lose(n) ==
  /\ node[n].connected /\ ("LOSS" \in Faults \/ ~IsOpen(n))
  /\ Follow(n, WorkAfterEnd(n))
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* The process dies.  It may be started again.
NodeCrashes(n) ==
  /\ "CRASH" \in Faults
  /\ node[n].connected \/ node[n].work # "none"
  /\ Follow(n, "none")
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

-----------------------------------------------------------------------------
(* Waiting for the main key *)

\* Not before the work of an earlier term of this node has ended.  Work that is not counted
\* yet is not awaited.
Open(n) ==
  /\ Reopen /\ ~node[n].connected /\ session[n].state = "none" /\ node[n].work \in {"none", "entering"}
  /\ node' = [node EXCEPT ![n] = [NewNode EXCEPT !.connected = TRUE,
       !.work = node[n].work, !.seen = node[n].seen]]
  /\ session' = [session EXCEPT ![n] = [NewSession EXCEPT !.state = "open"]]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* The lock HEAD, which an acquiring statement holds to its end
HasHead(n) == IsOpen(n) /\ node[n].call \in {"based", "seen", "waiting", "won", "keyed"}

IsHeadFree(n) ==
  /\ \A o \in Others(n) : ~HasHead(o) \/ ~Causes \/ Is("NO_HEAD")
  /\ ~(Is("HEAD_KEPT") /\ xid > 0)

\* The leaders that the client may pass as the predecessor: it has first observed them a
\* takeover delay ago, so that they have their term for as long
KnownLeaders(n) == {session[o].key : o \in {o \in Others(n) :
  session[o].term # 0 /\ (session[o].held >= Delay \/ Is("RECENT_PREDECESSOR"))}} \ {0}

\* The acquiring statement: takes HEAD and, if the client has passed a predecessor, reads the
\* baseline
Wait(n) ==
  /\ node[n].connected /\ node[n].pos = "following" /\ node[n].call = "idle" /\ IsOpen(n)
  /\ IsHeadFree(n)
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ IF Is("TERM_BEFORE_LOCK") /\ node[n].term = 0 /\ xid < MaxTerm
       THEN /\ node' = [node EXCEPT ![n].call = "waiting", ![n].term = xid + 1]
            /\ xid' = xid + 1
       ELSE /\ IF KnownLeaders(n) = {} THEN node' = [node EXCEPT ![n].call = "waiting"]
               ELSE \E term \in KnownLeaders(n) : node' = [node EXCEPT ![n].call = "based", ![n].pred = term]
            /\ UNCHANGED xid
  /\ UNCHANGED <<main, durable, granted, tx, crashes>>

\* Then looks whether the key of the term of the predecessor is held: it has not ended before
\* the baseline was read, and since nobody issues a term while that key is held, no later term
\* has begun.  Otherwise there is no baseline.
LookAtPredecessor(n) ==
  /\ node[n].call = "based" /\ IsOpen(n)
  /\ LET isLast == node[n].pred # 0 /\ \E o \in Others(n) : session[o].key = node[n].pred
     IN node' = [node EXCEPT ![n].call = IF Is("BASELINE_AFTER_LOOK") /\ isLast THEN "seen" ELSE "waiting",
          ![n].pred = IF isLast THEN @ ELSE 0, ![n].changed = IF isLast THEN @ ELSE {}]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

\* The reverse order, of the mistake BASELINE_AFTER_LOOK only
ReadBaselineLate(n) ==
  /\ node[n].call = "seen" /\ IsOpen(n)
  /\ node' = [node EXCEPT ![n].call = "waiting"]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

\* lock_timeout.  It may meet the grant of the lock: then the rollback of the sub-block
\* frees the lock of the transaction.  A lock of the session would remain.
WaitTimesOut(n) ==
  /\ node[n].call = "waiting" /\ IsOpen(n)
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].pred = 0, ![n].changed = {}]
  /\ main' = IF Is("SESSION_LOCK_IN_WAIT") /\ main = None THEN n ELSE main
  /\ UNCHANGED <<session, xid, durable, granted, tx, crashes>>

TakeMain(n) ==
  /\ node[n].call = "waiting" /\ IsOpen(n) /\ main = None
  /\ xid < MaxTerm \/ node[n].term # 0
  /\ main' = n
  /\ node' = [node EXCEPT ![n].call = "won",
       ![n].clear = Is("BARRIER_BEFORE_LOOK") /\ ~IsFenceShared]
  /\ UNCHANGED <<session, xid, durable, granted, tx, crashes>>

NoEarlierTerm(n) == \A o \in Others(n) : session[o].key = 0

\* Look at the locks of others.  If no key of an earlier term is held, assign the term, then
\* take its key
TakeTermKey(n) ==
  /\ node[n].call = "won" /\ IsOpen(n)
  /\ NoEarlierTerm(n) \/ Is("TERM_DESPITE_EARLIER_KEY") \/ Is("NO_WAIT_FOR_EARLIER_TERMS")
  /\ LET term == IF Is("TERM_BEFORE_LOCK") THEN node[n].term ELSE xid + 1
     IN
       /\ session' = [session EXCEPT ![n].key = term, ![n].term = IF Causes THEN term ELSE 0]
       /\ xid' = IF Is("TERM_BEFORE_LOCK") THEN xid ELSE term
       /\ node' = IF ~node[n].connected THEN [node EXCEPT ![n].call = "keyed"]
                  ELSE [node EXCEPT ![n].call = "keyed", ![n].term = term,
            ![n].clean = Clocks /\ \E o \in Others(n) : session[o].marker,
            ![n].clear = IF Is("BARRIER_BEFORE_LOOK") THEN @ /\ NoEarlierTerm(n)
                         ELSE NoEarlierTerm(n) \/ Is("NO_WAIT_FOR_EARLIER_TERMS")]
  /\ UNCHANGED <<main, durable, granted, tx, crashes>>

\* A session that ends may free the main key before that of its term.  If the winner has waited
\* for that for some time, it gives the main key back.
GiveBack(n) ==
  /\ node[n].call = "won" /\ IsOpen(n) /\ ~NoEarlierTerm(n)
  /\ main' = None
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].pred = 0, ![n].changed = {}, ![n].clear = FALSE]
  /\ UNCHANGED <<session, xid, durable, granted, tx, crashes>>

\* The pid of the predecessor is gone, so that its end is counted, and the counters have not
\* changed: its client has ended it
IsAbandoned(n) ==
  /\ node[n].pred # 0 /\ node[n].changed \intersect Compared = {}
  /\ (\A o \in Nodes : session[o].term # node[n].pred) \/ Is("COUNTED_TOO_EARLY")

\* Compare the counters.  Then try the fence key; it may also be shared
\* by a transaction that is not modelled.  The commit makes the term durable.  The client reads
\* the reply.
Elect(n) ==
  /\ node[n].call = "keyed" /\ IsOpen(n)
  /\ \E free \in {TRUE, ~Work} :
       node' = [node EXCEPT ![n].call = "idle",
         ![n].pos = IF node[n].connected THEN "elected" ELSE @,
         ![n].clean = @ \/ IsAbandoned(n), ![n].pred = 0, ![n].changed = {},
         ![n].clear = @ /\ (Is("NO_BARRIER") \/ Is("BARRIER_BEFORE_LOOK") \/ (free /\ ~IsFenceShared))]
  /\ durable' = IF Is("TERM_NOT_DURABLE") THEN durable ELSE xid
  /\ UNCHANGED <<session, main, xid, granted, tx, crashes>>

-----------------------------------------------------------------------------
(* Before the grant *)

HoldsBothKeys(n) == IsOpen(n) /\ main = n /\ session[n].key = node[n].term

\* The answer of a confirmation: another session holds the key of a term or a marker
IsBlocked(n) == \E o \in Others(n) :
  \/ session[o].key # 0 /\ ~Is("NO_WAIT_FOR_EARLIER_TERMS")
  \/ session[o].marker /\ ~Is("MARKER_NOT_AWAITED")

\* A confirmation that does not lead to the grant; the barrier follows when no earlier
\* term is left
AwaitEarlierTerms(n) ==
  /\ node[n].pos = "elected" /\ node[n].call = "idle" /\ HoldsBothKeys(n)
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ node' = [node EXCEPT ![n].call = IF ~node[n].clear /\ ~IsBlocked(n) THEN "looked" ELSE "idle"]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* The fence key is taken and freed at once
PassBarrier(n) ==
  /\ node[n].call = "looked" /\ node[n].connected /\ IsOpen(n)
  /\ ~IsFenceShared \/ Is("NO_BARRIER")
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].clear = TRUE]
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* A transaction shares the fence key for longer than the barrier waits
BarrierTimesOut(n) ==
  /\ node[n].call = "looked" /\ node[n].connected /\ IsOpen(n)
  /\ node' = [node EXCEPT ![n].call = "idle"]
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* The takeover delay is over, the predecessor left its marker, or its client has ended it
IsDue(n) == node[n].waited >= Delay \/ node[n].clean \/ Is("NO_TAKEOVER_DELAY") \/ ~Clocks

\* The last confirmation before the grant may begin during the takeover delay, and others
\* follow while leading
StartConfirmation(n) ==
  /\ node[n].connected /\ node[n].call = "idle"
  /\ \/ node[n].pos = "leading" /\ Clocks
     \/ node[n].pos = "elected" /\ node[n].clear
  /\ node' = [node EXCEPT ![n].call = "confirming", ![n].sent = 0]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

Confirm(n) ==
  /\ node[n].call = "confirming" /\ HoldsBothKeys(n)
  /\ node' = [node EXCEPT ![n].call = "confirmed", ![n].blocked = node[n].pos = "elected" /\ IsBlocked(n)]
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* Trust counts from the start of the confirmation, whenever its reply is read
Anchor(n) == IF Is("ANCHOR_AT_REPLY") THEN 0 ELSE node[n].sent

Grant(n) ==
  /\ node[n].pos = "elected" /\ node[n].connected /\ IsDue(n)
  /\ \/ node[n].call = "confirmed" /\ ~node[n].blocked
     \/ Is("GRANT_WITHOUT_CONFIRMATION") /\ node[n].call = "idle" /\ node[n].clear
  /\ Anchor(n) < LongestTrust
  /\ node' = [node EXCEPT ![n].pos = "leading", ![n].call = "idle", ![n].age = Anchor(n), ![n].sent = 0,
       ![n].clean = FALSE, ![n].clear = FALSE, ![n].waited = 0]
  /\ granted' = IF node[n].term > granted THEN node[n].term ELSE granted
  \* When the next confirmation is due counts from the last one and not from the grant
  /\ session' = IF Is("LATE_FIRST_CONFIRMATION") THEN [session EXCEPT ![n].idle = 0] ELSE session
  /\ UNCHANGED <<main, xid, durable, tx, crashes>>

\* A marker still stands, or the confirmation is too old.  A node that is to leave is not
\* granted leadership either: FreeUngranted.
RepeatConfirmation(n) ==
  /\ node[n].pos = "elected" /\ node[n].connected /\ node[n].call = "confirmed"
  /\ node[n].blocked \/ node[n].sent >= LongestTrust
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].blocked = FALSE, ![n].sent = 0]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

-----------------------------------------------------------------------------
(* Leading *)

\* A late success never revives a term
Extend(n) ==
  /\ node[n].connected /\ node[n].call = "confirmed" /\ (IsLeader(n) \/ node[n].pos = "draining")
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].sent = 0,
       ![n].age = IF node[n].pos = "leading" THEN Anchor(n) ELSE @]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

\* The gate looks whether the node leads and in which term, counts the work, and looks again
LookForWork(n) ==
  /\ Work /\ IsLeader(n) /\ node[n].work = "none"
  /\ node' = [node EXCEPT ![n].work = "entering", ![n].seen = node[n].term]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

CountWork(n) ==
  /\ node[n].work = "entering"
  /\ node' = [node EXCEPT ![n].work = IF Is("CHECK_BEFORE_COUNT") THEN "running" ELSE "counted"]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

CheckWork(n) ==
  /\ node[n].work = "counted"
  /\ LET admitted == IsLeader(n) /\ (node[n].seen = node[n].term \/ Is("TERM_NOT_COMPARED"))
     IN node' = [node EXCEPT ![n].work = IF admitted THEN "running" ELSE "none",
          ![n].seen = IF admitted THEN @ ELSE 0]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

EndWork(n) ==
  /\ node[n].work = "running"
  /\ node' = [node EXCEPT ![n].work = "none", ![n].seen = 0]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

-----------------------------------------------------------------------------
(* Handing over *)

\* Resign or stop: the gate is shut at once, also during a confirmation.  What is trusted no
\* longer matters to other nodes.
BeginHandOver(n) ==
  /\ HandOver /\ node[n].pos = "leading"
  /\ node' = [node EXCEPT ![n].pos = "draining", ![n].age = 0, ![n].sent = 0]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

\* Confirmations continue
ConfirmWhileHandingOver(n) ==
  /\ node[n].pos \in {"draining", "notified"} /\ node[n].call = "idle" /\ HoldsBothKeys(n)
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ UNCHANGED <<node, main, xid, durable, granted, tx, crashes>>

\* No counted work: work that is counted later finds the gate shut
IsDrained(n) == node[n].work \in {"none", "entering"} \/ Is("UNLOCK_BEFORE_DRAIN")

\* From here on the listeners of the revoked event run
Notify(n) ==
  /\ node[n].pos = "draining" /\ node[n].call = "idle"
  /\ node' = [node EXCEPT ![n].pos = "notified"]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

\* No work is in flight
NotifyListeners(n) == IsDrained(n) /\ Notify(n)

\* drain-timeout, the interrupt and half of the grace are over: listeners need some time too
NotifyOverdue(n) == ~IsDrained(n) /\ Notify(n)

\* Trust ends, then the releasing statement is sent
CompleteHandOver(n, orderly) ==
  /\ node[n].connected /\ IsOpen(n)
  /\ node' = [node EXCEPT ![n].pos = "following", ![n].call = "freeing", ![n].orderly = orderly,
       ![n].work = WorkAfterEnd(n), ![n].seen = SeenBy(n, WorkAfterEnd(n)),
       ![n].term = 0, ![n].clean = FALSE, ![n].clear = FALSE,
       ![n].blocked = FALSE, ![n].sent = 0, ![n].waited = 0]
  /\ session' = [session EXCEPT ![n].idle = 0]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

\* All work and listeners have ended, the work possibly after the listeners were notified
FreeInOrder(n) ==
  /\ node[n].pos = "notified" /\ node[n].call = "idle" /\ (IsDrained(n) \/ Is("DRAIN_CHECKED_ONCE"))
  /\ CompleteHandOver(n, TRUE)

\* drain-timeout, the interrupt and the grace are over
FreeOverdue(n) ==
  /\ node[n].pos \in {"draining", "notified"} /\ node[n].call = "idle"
  /\ CompleteHandOver(n, Is("MARKER_DESPITE_WORK"))

\* The lock was won, but the node is to leave before the grant, or when it would be granted
FreeUngranted(n) ==
  /\ HandOver /\ node[n].pos = "elected" /\ node[n].call \in {"idle", "confirmed"}
  /\ CompleteHandOver(n, Is("MARKER_WITHOUT_GRANT"))

\* The releasing statement
SetMarker(n) ==
  /\ node[n].call = "freeing" /\ IsOpen(n)
  /\ session' = [session EXCEPT ![n].marker = node[n].orderly /\ main = n]
  /\ node' = [node EXCEPT ![n].call = "marked"]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

UnlockTermKey(n) ==
  /\ node[n].call = "marked" /\ IsOpen(n)
  /\ session' = [session EXCEPT ![n].key = 0]
  /\ node' = [node EXCEPT ![n].call = "freeingMain"]
  /\ UNCHANGED <<main, xid, durable, granted, tx, crashes>>

ReleaseMain(n) ==
  /\ node[n].call = "freeingMain" /\ IsOpen(n)
  /\ main' = IF main = n THEN None ELSE main
  /\ node' = [node EXCEPT ![n].call = "freed", ![n].orderly = FALSE]
  /\ UNCHANGED <<session, xid, durable, granted, tx, crashes>>

\* The code awaits that a successor has its term or that nobody else is a candidate, since
\* the marker is of no use after that.  Here it may be removed at any time.
RemoveMarker(n) ==
  /\ node[n].call = "freed" /\ IsOpen(n) /\ session[n].marker
  /\ session' = [session EXCEPT ![n].marker = FALSE]
  /\ UNCHANGED <<node, main, xid, durable, granted, tx, crashes>>

\* With or without a successor the statement ends, and the node closes the session
Close(n) ==
  /\ node[n].call = "freed" /\ IsOpen(n)
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].connected = FALSE]
  /\ UNCHANGED <<session, main, xid, durable, granted, tx, crashes>>

-----------------------------------------------------------------------------
(* A transaction of leader work, on a connection of the application.  It   *)
(* may be paused between any two steps, and a statement or commit that was *)
(* sent takes effect although the node has crashed since.                  *)

Begin(n) ==
  /\ tx.phase = "none" /\ node[n].work = "running"
  /\ tx' = [phase |-> "begun", term |-> node[n].seen]
  /\ UNCHANGED <<node, session, main, xid, durable, granted, crashes>>

IsKeyHeld == \E n \in Nodes : session[n].key = tx.term

Phase(phase) ==
  /\ tx' = [tx EXCEPT !.phase = phase]
  /\ UNCHANGED <<node, session, main, xid, durable, granted, crashes>>

\* First the share of the fence key
ShareFence == tx.phase = "begun" /\ ~Is("LOOK_BEFORE_SHARE") /\ Phase("shared")

\* Then the look whether the key of the term is held
LookAtTermKey == tx.phase = "shared" /\ (IsKeyHeld \/ Is("OPEN_FENCE")) /\ ~Is("LOOK_BEFORE_SHARE") /\ Phase("passed")

LookFirst == Is("LOOK_BEFORE_SHARE") /\ tx.phase = "begun" /\ IsKeyHeld /\ Phase("looked")

ShareSecond == Is("LOOK_BEFORE_SHARE") /\ tx.phase = "looked" /\ Phase("passed")

EndTransaction ==
  /\ tx.phase # "none"
  /\ tx' = NoTx
  /\ UNCHANGED <<node, session, main, xid, durable, granted, crashes>>

-----------------------------------------------------------------------------
Step(n) ==
  \/ ServerEndsSilentSession(n) \/ ServerEndsClosedSession(n) \/ ServerEndsLiveSession(n)
  \/ FreeMain(n) \/ FreeTermKey(n) \/ FreeMarker(n) \/ Count(n)
  \/ Lose(n) \/ NodeCrashes(n)
  \/ Open(n) \/ Wait(n) \/ LookAtPredecessor(n) \/ ReadBaselineLate(n) \/ WaitTimesOut(n)
  \/ TakeMain(n) \/ TakeTermKey(n) \/ GiveBack(n) \/ Elect(n)
  \/ AwaitEarlierTerms(n) \/ PassBarrier(n) \/ BarrierTimesOut(n) \/ StartConfirmation(n) \/ Confirm(n)
  \/ Grant(n) \/ RepeatConfirmation(n) \/ Extend(n)
  \/ LookForWork(n) \/ CountWork(n) \/ CheckWork(n) \/ EndWork(n)
  \/ BeginHandOver(n) \/ ConfirmWhileHandingOver(n) \/ NotifyListeners(n) \/ NotifyOverdue(n)
  \/ FreeInOrder(n) \/ FreeOverdue(n) \/ FreeUngranted(n)
  \/ SetMarker(n) \/ UnlockTermKey(n) \/ ReleaseMain(n) \/ RemoveMarker(n) \/ Close(n)
  \/ Begin(n)

Next ==
  \/ Tick
  \/ ServerCrashes \/ ResetCounters
  \/ \E n \in Nodes : Step(n)
  \/ ShareFence \/ LookAtTermKey \/ LookFirst \/ ShareSecond \/ EndTransaction

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The guarantees *)

\* A transaction that has passed the fence may commit at any time, so it must have ended
\* before a later term is granted
G1_Fence == tx.phase = "passed" => tx.term >= granted

G2_OneBeliever == \A m, n \in Nodes : IsLeader(m) /\ IsLeader(n) => m = n

\* A node whose silence lasts for a lease has stopped before.  PromptNotice is a condition
\* on other sessions only.
G2_Silence == \A n \in Nodes : IsOpen(n) /\ session[n].idle >= Lease => ~Trusts(n)

\* A term that is won is greater than every term that was granted before
G3_Terms == [][\A n \in Nodes :
  node[n].pos # "elected" /\ node'[n].pos = "elected" => node'[n].term > granted]_vars

\* Terms are granted in their order: as G2, under its condition
G3_Order == [][\A n \in Nodes :
  node[n].pos # "leading" /\ node'[n].pos = "leading" => node[n].term > granted]_vars

\* Nothing of the term runs when its lock is freed, unless its time was over; and a marker
\* says that nothing runs
G4_HandOver == \A n \in Nodes : node[n].orderly \/ session[n].marker => node[n].work # "running"

\* No work of an earlier term of the node runs in its term
G4_WorkOfTerm == \A n \in Nodes :
  node[n].pos \in {"leading", "draining", "notified"} /\ node[n].work = "running" => node[n].seen = node[n].term

\* A follower between two waits holds nothing
G6_NoLeak == \A n \in Nodes :
  node[n].connected /\ node[n].pos = "following" /\ node[n].call = "idle" =>
    main # n /\ session[n].key = 0 /\ ~session[n].marker

Symmetry == Permutations(Nodes)
=============================================================================
