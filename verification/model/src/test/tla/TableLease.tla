----------------------------- MODULE TableLease -----------------------------
(***************************************************************************)
(* The election with the lease table: nodes, the row of the election, and  *)
(* a transaction of leader work.  One action is one step of the code       *)
(* between two points at which another process may act.                    *)
(* docs/internals/verification.md names the method and the statement that  *)
(* implement each action.                                                  *)
(*                                                                         *)
(* Freeze and cut.  No action has to be taken, as in Election.  A          *)
(* statement that was sent may take effect although its node has given the *)
(* connection up, or sends it again on another one.  A pooler may pass it  *)
(* on to a server that was restarted or promoted meanwhile.                *)
(*                                                                         *)
(* Time, as in Election.  A time that is measured on a clock of bounded    *)
(* drift is between a minimum and a maximum number of ticks:               *)
(*   the lease, on a follower:           Lease .. any number               *)
(*   three quarters of it, on a leader:  1 .. Trust                        *)
(* Without Clocks everything that waits for a time may happen at any time. *)
(*                                                                         *)
(* Tokens.  Each session draws a token.  A term tells the sessions of a    *)
(* node apart, except after a promotion, which may repeat transaction ids. *)
(* So a token is the node and the timeline of the takeover.                *)
(*                                                                         *)
(* Promotion.  The former primary has ended.  The standby has an earlier   *)
(* version of the row and of the transaction ids.                          *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences, TLC

CONSTANTS
  Nodes,
  None,           \* no node
  MaxTerm,        \* the number of transaction ids on a timeline
  MaxBeat,        \* the number of renewals in a term
  BeatsRepeat,    \* whether beats begin again after MaxBeat
  MaxCrashes,     \* the number of crashes of the server
  MaxPromotions,  \* the number of promotions
  Clocks,         \* whether there is time
  Work,           \* whether there are leader work and its transaction
  Lease,          \* the shortest time after which a follower considers a lease as expired
  Trust,          \* the longest time for which a renewal is trusted
  Faults,         \* "LOSS" and "CRASH" of nodes, "LATE": statements of connections that were given up
  Requests,       \* whether nodes request that the leader resigns
  Mutant          \* a seeded mistake, or "NONE"

VARIABLES
  node,      \* what each node knows
  late,      \* the statement of each node that may take effect although the node does not wait for it
  primary,   \* the row of the election, and the last transaction id
  standby,   \* an earlier version of both
  timeline,  \* the timeline of the server
  forks,     \* the last term that each earlier timeline left to the next one
  granted,   \* the greatest term that was granted
  kept,      \* the greatest of those whose takeover no promotion has lost
  tx,        \* one transaction of leader work
  crashes    \* how often the server has crashed

vars == <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

Is(mutant) == Mutant = mutant

(***************************************************************************)
(* A node.  pos is the position of ElectionState, call the statement that  *)
(* was sent or whose reply is on its way:                                  *)
(*   "idle"      none                                                      *)
(*   "reading"   a round without renewal                                   *)
(*   "read"      it has shown the version got                              *)
(*   "taking"    a takeover of the version seen                            *)
(*   "renewing"  a round with a renewal                                    *)
(*   "renewed"   it has succeeded                                          *)
(*   "refused"   it has not, and has shown the version got                 *)
(*   "freeing"   a release                                                 *)
(* seen is the version of the row in the last reply, waited the time since *)
(* the reply that first showed it.  age is the time since the start of the *)
(* renewal that is trusted, sent that since the start of the round in      *)
(* progress.  Values that nothing will read are set back, so that equal    *)
(* states are equal.                                                       *)
(***************************************************************************)
NewNode == [pos |-> "following", call |-> "idle", term |-> 0, timeline |-> 0, beat |-> 0, clear |-> FALSE,
  asked |-> FALSE, age |-> 0, sent |-> 0, seen |-> <<>>, got |-> <<>>, waited |-> 0, work |-> "none",
  orderly |-> FALSE]

NoStatement == [kind |-> "none", term |-> 0, timeline |-> 0, beat |-> 0, on |-> 0, clean |-> FALSE]

\* A row that was never taken over counts as one of the first timeline
NewRow == [xid |-> 0, term |-> 0, timeline |-> 1, barrier |-> 0, beat |-> 0, token |-> None, holder |-> None,
  resign |-> 0]

NoTx == [phase |-> "none", node |-> None, term |-> 0, timeline |-> 0, older |-> FALSE]

Init ==
  /\ node = [n \in Nodes |-> NewNode]
  /\ late = [n \in Nodes |-> NoStatement]
  /\ primary = NewRow /\ standby = NewRow /\ timeline = 1
  /\ forks = <<>> /\ granted = 0 /\ kept = 0 /\ crashes = 0
  /\ tx = NoTx

Least(a, b) == IF a < b THEN a ELSE b

Greatest(a, b) == IF a > b THEN a ELSE b

\* Terms are compared as timeline, then transaction id
Order(onTimeline, term) == (MaxTerm + 1) * onTimeline + term

\* A promotion has lost the takeover
IsLost(onTimeline, term) == \E t \in onTimeline .. Len(forks) : Order(onTimeline, term) > forks[t]

\* LeaderElector.isLeader()
IsLeader(n) == node[n].pos = "leading" /\ node[n].age < Trust

\* The row has the term and the token of a node
Has(n, term, onTimeline) == primary.term = term /\ primary.timeline = onTimeline /\ primary.token = n

Owns(n) == Has(n, node[n].term, node[n].timeline)

\* A transaction holds FOR SHARE on the row of the fence
IsShared == tx.phase = "passed"

\* What a reply shows: the term, its timeline, the beat, the token, and the timeline of the server
Version == <<primary.term, primary.timeline, primary.beat, primary.token, timeline>>

IsSame(got, seen) ==
  /\ seen # <<>>
  /\ SubSeq(got, 1, 4) = SubSeq(seen, 1, 4)
  /\ got[5] = seen[5] \/ Is("TIMELINE_NOT_COMPARED")

\* The server has been promoted since the takeover
IsOutdated(seen) == seen[2] # seen[5] /\ ~(seen[1] = 0 /\ Is("FIRST_TERM_NEVER_OUTDATED"))

IsHeldByOther(n, seen) == seen[4] \notin {None, n}

\* The row has been the same for a lease, or nobody holds it, or this node did, in a session
\* that has ended
IsFree(n) ==
  LET seen == node[n].seen IN
    /\ seen # <<>>
    /\ \/ node[n].waited >= Lease \/ ~Clocks
       \/ ~IsHeldByOther(n, seen) /\ ~IsOutdated(seen)
       \/ seen[4] = n /\ Is("FORMER_TOKEN_ALWAYS_FREE")

-----------------------------------------------------------------------------
(* Time *)

Tick ==
  /\ Clocks
  /\ node' = [n \in Nodes |-> [node[n] EXCEPT
       !.age = IF node[n].pos = "leading" THEN Least(@ + 1, Trust) ELSE @,
       !.sent = IF node[n].call \in {"renewing", "renewed"} THEN Least(@ + 1, Trust)
                ELSE IF node[n].call \in {"reading", "read"} /\ Is("EXPIRY_FROM_REQUEST") THEN Least(@ + 1, Lease)
                ELSE @,
       !.waited = IF node[n].seen # <<>> THEN Least(@ + 1, Lease) ELSE @]]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* The server *)

\* Whether versions of the row may be lost, once or once more
IsLossy == timeline <= MaxPromotions \/ (Is("RENEWAL_NOT_FLUSHED") /\ crashes < MaxCrashes)

\* The standby has received everything up to now, or a mistake has everything flushed up to now
Replicate ==
  /\ IsLossy /\ standby # primary
  /\ standby' = primary
  /\ UNCHANGED <<node, late, primary, timeline, forks, granted, kept, tx, crashes>>

\* All takeovers, renewals and releases were flushed
ServerCrashes ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ primary' = IF Is("RENEWAL_NOT_FLUSHED") /\ standby.term = primary.term /\ standby.token = primary.token
                  THEN standby ELSE primary
  /\ tx' = NoTx
  /\ UNCHANGED <<node, late, standby, timeline, forks, granted, kept>>

Promote ==
  /\ timeline <= MaxPromotions
  /\ timeline' = timeline + 1
  /\ primary' = standby
  /\ forks' = Append(forks, Order(standby.timeline, standby.term))
  /\ kept' = Least(kept, Order(standby.timeline, standby.term))
  /\ standby' = IF timeline = MaxPromotions THEN NewRow ELSE standby
  /\ tx' = NoTx
  /\ UNCHANGED <<node, late, granted, crashes>>

-----------------------------------------------------------------------------
(* The end of a leadership that cannot be handed over *)

\* The statement that was sent but has not been executed
Pending(n) ==
  LET seen == node[n].seen IN
    CASE node[n].call = "taking" ->
           [NoStatement EXCEPT !.kind = "takeover", !.term = seen[1], !.timeline = seen[2], !.beat = seen[3],
             !.on = seen[5]]
      [] node[n].call = "renewing" ->
           [NoStatement EXCEPT !.kind = "renewal", !.term = node[n].term, !.timeline = node[n].timeline,
             !.beat = node[n].beat]
      [] node[n].call = "freeing" ->
           [NoStatement EXCEPT !.kind = "release", !.term = node[n].term, !.timeline = node[n].timeline,
             !.clean = node[n].orderly]
      [] OTHER -> NoStatement

\* One statement at most is late
GiveUp(n) ==
  late' = IF "LATE" \in Faults /\ Pending(n) # NoStatement THEN [late EXCEPT ![n] = Pending(n)] ELSE late

Follow(n, work, seen) ==
  node' = [node EXCEPT ![n] = [NewNode EXCEPT
    !.seen = seen, !.waited = IF seen = node[n].seen /\ seen # <<>> THEN node[n].waited ELSE 0,
    !.work = work,
    !.term = IF work # "none" THEN node[n].term ELSE 0,
    !.timeline = IF work # "none" THEN node[n].timeline ELSE 0]]

\* Trust has expired, or a call has failed.  The work of the term is interrupted, but may go on.
Lose(n) ==
  /\ "LOSS" \in Faults /\ (node[n].pos # "following" \/ node[n].call \in {"taking", "freeing"})
  /\ GiveUp(n)
  /\ Follow(n, node[n].work, node[n].seen)
  /\ UNCHANGED <<primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The row has another term or token
LoseTerm(n) ==
  /\ node[n].call = "refused"
  /\ Follow(n, node[n].work, node[n].got)
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The process dies.  It may be started again.
NodeCrashes(n) ==
  /\ "CRASH" \in Faults
  /\ node[n] # NewNode
  /\ GiveUp(n)
  /\ Follow(n, "none", <<>>)
  /\ UNCHANGED <<primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Following *)

\* Only a mistake depends on the start of a round that renews nothing
Ask(n) ==
  /\ Is("EXPIRY_FROM_REQUEST") /\ node[n].pos = "following" /\ node[n].call = "idle"
  /\ node' = [node EXCEPT ![n].call = "reading", ![n].sent = 0]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

Read(n) ==
  /\ node[n].pos = "following" /\ node[n].call = IF Is("EXPIRY_FROM_REQUEST") THEN "reading" ELSE "idle"
  /\ node' = [node EXCEPT ![n].call = "read", ![n].got = Version]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The time counts from the reply that first showed this version
Observe(n) ==
  /\ node[n].call = "read"
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].seen = node[n].got, ![n].got = <<>>, ![n].sent = 0,
       ![n].waited = IF IsSame(node[n].got, node[n].seen) THEN @
                     ELSE IF Is("EXPIRY_FROM_REQUEST") THEN node[n].sent ELSE 0]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* Not before the work of an earlier term of this node has ended
StartTakeover(n) ==
  /\ node[n].pos = "following" /\ node[n].call = "idle" /\ node[n].work = "none" /\ IsFree(n)
  /\ node' = [node EXCEPT ![n].call = "taking"]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The row is as it was seen, on the same timeline of the server.  If it is not, this node
\* has to read it again.
Permits(takeover) ==
  /\ primary.term = takeover.term /\ primary.timeline = takeover.timeline
  /\ primary.beat = takeover.beat \/ Is("BEAT_NOT_COMPARED")
  /\ timeline = takeover.on \/ Is("TAKEOVER_AFTER_PROMOTION")

\* The transaction id of the takeover
NewTerm == IF Is("TERM_NOT_RAISED") /\ primary.term # 0 THEN primary.term ELSE primary.xid + 1

\* A change of the row of the fence waits for transactions that share a lock on it.  If there is
\* one, which may also be one that is not modelled, only the lease is changed.
ToTakeOver(n, barrier) ==
  /\ NewTerm <= MaxTerm
  /\ barrier => ~IsShared
  /\ primary' = [primary EXCEPT !.xid = Greatest(@, NewTerm), !.term = NewTerm, !.timeline = timeline,
       !.barrier = IF barrier THEN NewTerm ELSE @, !.beat = 0, !.token = n, !.holder = IF Work THEN n ELSE None, !.resign = 0]

TakeOver(n) ==
  /\ node[n].call = "taking"
  /\ IF Permits(Pending(n))
       THEN \E barrier \in BOOLEAN :
              /\ ToTakeOver(n, barrier)
              /\ node' = [node EXCEPT ![n].pos = "elected", ![n].call = "idle", ![n].term = NewTerm,
                   ![n].timeline = timeline, ![n].clear = barrier \/ Is("NO_BARRIER"),
                   ![n].seen = <<>>, ![n].waited = 0]
       ELSE /\ node' = [node EXCEPT ![n].call = "idle", ![n].seen = <<>>, ![n].waited = 0]
            /\ UNCHANGED primary
  /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Renewals, before the grant and while leading *)

StartRenewal(n) ==
  /\ node[n].call = "idle" /\ (node[n].pos = "elected" \/ (node[n].pos = "leading" /\ Clocks))
  /\ node[n].beat < MaxBeat \/ BeatsRepeat
  /\ node' = [node EXCEPT ![n].call = "renewing", ![n].sent = 0,
       ![n].beat = IF @ = MaxBeat THEN 1 ELSE @ + 1]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* Renewals do not change the row of the fence
IsLockedForRenewal == IsShared /\ Is("FENCE_BLOCKS_RENEWALS")

\* No renewal goes back behind a later one
Accepts(beat) == primary.beat <= beat \/ BeatsRepeat \/ Is("LATE_RENEWAL_TAKES_BEAT_BACK")

\* An elected node that finds the server promoted since its takeover leaves
Renew(n) ==
  /\ node[n].call = "renewing" /\ ~IsLockedForRenewal
  /\ IF Owns(n) /\ Accepts(node[n].beat)
       THEN /\ primary' = [primary EXCEPT !.beat = node[n].beat]
            /\ node' = IF node[n].pos = "elected" /\ node[n].timeline # timeline /\ ~Is("GRANT_AFTER_PROMOTION")
                 THEN [node EXCEPT ![n].call = "refused", ![n].got = Version, ![n].sent = 0]
                 ELSE [node EXCEPT ![n].call = "renewed", ![n].asked = primary.resign = node[n].term]
       ELSE /\ node' = [node EXCEPT ![n].call = "refused", ![n].got = Version, ![n].sent = 0]
            /\ UNCHANGED primary
  /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

\* The connection is given up, and the renewal is sent again on another one
RepeatRenewal(n) ==
  /\ "LATE" \in Faults /\ node[n].call = "renewing" /\ late[n] = NoStatement
  /\ late' = [late EXCEPT ![n] = Pending(n)]
  /\ UNCHANGED <<node, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* Trust counts from the start of the renewal, whenever its reply is read
Anchor(n) == IF Is("ANCHOR_AT_REPLY") THEN 0 ELSE node[n].sent

\* No transaction that has passed the fence of an earlier term is left
PassBarrier(n) ==
  /\ node[n].pos = "elected" /\ node[n].call = "idle" /\ ~node[n].clear
  /\ Owns(n) /\ ~IsShared
  /\ primary' = [primary EXCEPT !.barrier = node[n].term]
  /\ node' = [node EXCEPT ![n].clear = TRUE]
  /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

Grant(n) ==
  /\ node[n].pos = "elected" /\ node[n].call = "renewed" /\ node[n].clear /\ ~node[n].asked
  /\ Anchor(n) < Trust
  /\ node' = [node EXCEPT ![n].pos = "leading", ![n].call = "idle", ![n].age = Anchor(n), ![n].sent = 0,
       ![n].clear = FALSE]
  /\ LET term == Order(node[n].timeline, node[n].term) IN
       /\ granted' = Greatest(granted, term)
       /\ kept' = IF IsLost(node[n].timeline, node[n].term) THEN kept ELSE Greatest(kept, term)
  /\ UNCHANGED <<late, primary, standby, timeline, forks, tx, crashes>>

\* The row of the fence has not been changed, the renewal is too old, or this node is to leave
RepeatConfirmation(n) ==
  /\ node[n].pos = "elected" /\ node[n].call = "renewed" /\ (~node[n].clear \/ node[n].sent >= Trust \/ node[n].asked)
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].sent = 0]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* A late success never revives a term
Extend(n) ==
  /\ node[n].call = "renewed" /\ IsLeader(n)
  /\ node' = [node EXCEPT ![n].call = "idle", ![n].age = Anchor(n), ![n].sent = 0]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Statements of connections that were given up *)

Forget(n) == late' = [late EXCEPT ![n] = NoStatement]

TakeOverLate(n) ==
  /\ late[n].kind = "takeover" /\ Permits(late[n])
  /\ \E barrier \in BOOLEAN : ToTakeOver(n, barrier)
  /\ Forget(n)
  /\ UNCHANGED <<node, standby, timeline, forks, granted, kept, tx, crashes>>

RenewLate(n) ==
  /\ late[n].kind = "renewal" /\ ~IsLockedForRenewal
  /\ Has(n, late[n].term, late[n].timeline) /\ Accepts(late[n].beat)
  /\ primary' = [primary EXCEPT !.beat = late[n].beat]
  /\ Forget(n)
  /\ UNCHANGED <<node, standby, timeline, forks, granted, kept, tx, crashes>>

ToRelease(n, clean) ==
  primary' = [primary EXCEPT !.token = None, !.beat = @ + 1, !.holder = IF clean THEN None ELSE @, !.resign = 0]

ReleaseLate(n) ==
  /\ late[n].kind = "release" /\ Has(n, late[n].term, late[n].timeline)
  /\ ToRelease(n, late[n].clean)
  /\ Forget(n)
  /\ UNCHANGED <<node, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Leader work *)

\* The gate counts work first and checks second
CountWork(n) ==
  /\ Work /\ IsLeader(n) /\ node[n].work = "none"
  /\ node' = [node EXCEPT ![n].work = "counted"]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* Whether a node still needs its term when its work has ended
TermIsOver(n) == node[n].pos = "following" /\ node[n].call # "freeing"

CheckWork(n) ==
  /\ node[n].work = "counted"
  /\ LET admitted == IsLeader(n)
         over == ~admitted /\ TermIsOver(n)
     IN node' = [node EXCEPT ![n].work = IF admitted THEN "running" ELSE "none",
          ![n].term = IF over THEN 0 ELSE @, ![n].timeline = IF over THEN 0 ELSE @]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

EndWork(n) ==
  /\ node[n].work = "running"
  /\ node' = [node EXCEPT ![n].work = "none",
       ![n].term = IF TermIsOver(n) THEN 0 ELSE @, ![n].timeline = IF TermIsOver(n) THEN 0 ELSE @]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Handing over *)

\* Any node requests that the term it has observed ends
RequestResignation ==
  /\ Requests /\ primary.token # None /\ primary.resign = 0
  /\ primary' = [primary EXCEPT !.resign = primary.term]
  /\ UNCHANGED <<node, late, standby, timeline, forks, granted, kept, tx, crashes>>

\* Resign, stop or a request: the gate is shut.  What is trusted no longer matters to other nodes.
\* Without work there is nothing to drain.
BeginHandOver(n) ==
  /\ node[n].pos = "leading" /\ node[n].call = "idle"
  /\ node' = [node EXCEPT ![n].pos = IF Work THEN "draining" ELSE "notified", ![n].age = 0, ![n].asked = FALSE]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* Renewals continue
RenewWhileHandingOver(n) ==
  /\ node[n].pos \in {"draining", "notified"} /\ node[n].call = "idle" /\ Owns(n) /\ Clocks
  /\ node[n].beat < MaxBeat \/ BeatsRepeat
  /\ LET beat == IF node[n].beat = MaxBeat THEN 1 ELSE node[n].beat + 1 IN
       /\ primary' = [primary EXCEPT !.beat = beat]
       /\ node' = [node EXCEPT ![n].beat = beat]
  /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

\* No work is in flight: now the listeners of the revoked event run
NotifyListeners(n) ==
  /\ node[n].pos = "draining" /\ (node[n].work = "none" \/ Is("RELEASE_BEFORE_DRAIN"))
  /\ node' = [node EXCEPT ![n].pos = "notified"]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* Trust ends, then the releasing statement is sent
CompleteHandOver(n, orderly) ==
  /\ node[n].call = "idle"
  /\ node' = [node EXCEPT ![n].pos = "following", ![n].call = "freeing", ![n].orderly = orderly,
       ![n].clear = FALSE, ![n].asked = FALSE, ![n].beat = 0]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* All work and listeners have ended
FreeInOrder(n) == node[n].pos = "notified" /\ CompleteHandOver(n, TRUE)

\* drain-timeout, the interrupt and the grace are over
FreeOverdue(n) == Work /\ node[n].pos \in {"draining", "notified"} /\ CompleteHandOver(n, FALSE)

\* The term was won, but the node is to leave before the grant.  Without work it does not matter
\* whether a release is in order.
FreeUngranted(n) == node[n].pos = "elected" /\ CompleteHandOver(n, ~Work)

\* If work may still run, the name of the holder remains
Release(n) ==
  /\ node[n].call = "freeing"
  /\ IF Owns(n) THEN ToRelease(n, node[n].orderly) ELSE UNCHANGED primary
  /\ Follow(n, node[n].work, <<>>)
  /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* A transaction of leader work, on a connection of the application.  It   *)
(* may be paused between any two steps, and a statement or commit that was *)
(* sent takes effect although the node has crashed since.                  *)

\* Under REPEATABLE READ or SERIALIZABLE, a transaction sees the row as it was
Begin(n) ==
  /\ tx.phase = "none" /\ node[n].work = "running"
  /\ \E older \in {FALSE, Owns(n) /\ primary.barrier = node[n].term} :
       tx' = [phase |-> "begun", node |-> n, term |-> node[n].term, timeline |-> node[n].timeline, older |-> older]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, crashes>>

\* The row has the term and the token of the transaction.  An older version of the row that had
\* them can be locked until the barrier changes, which is a serialization failure.
PassFence ==
  /\ tx.phase = "begun"
  /\ \/ Has(tx.node, tx.term, tx.timeline)
     \/ tx.older /\ primary.barrier = tx.term
     \/ primary.term = tx.term /\ Is("FENCE_WITHOUT_TOKEN")
  /\ tx' = [tx EXCEPT !.phase = "passed", !.older = FALSE]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, crashes>>

EndTransaction ==
  /\ tx.phase # "none"
  /\ tx' = NoTx
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, crashes>>

-----------------------------------------------------------------------------
Step(n) ==
  \/ Lose(n) \/ LoseTerm(n) \/ NodeCrashes(n)
  \/ Ask(n) \/ Read(n) \/ Observe(n) \/ StartTakeover(n) \/ TakeOver(n)
  \/ StartRenewal(n) \/ Renew(n) \/ RepeatRenewal(n) \/ PassBarrier(n)
  \/ Grant(n) \/ RepeatConfirmation(n) \/ Extend(n)
  \/ TakeOverLate(n) \/ RenewLate(n) \/ ReleaseLate(n)
  \/ CountWork(n) \/ CheckWork(n) \/ EndWork(n)
  \/ BeginHandOver(n) \/ RenewWhileHandingOver(n) \/ NotifyListeners(n)
  \/ FreeInOrder(n) \/ FreeOverdue(n) \/ FreeUngranted(n) \/ Release(n)
  \/ Begin(n)

Next ==
  \/ Tick
  \/ Replicate \/ ServerCrashes \/ Promote
  \/ \E n \in Nodes : Step(n)
  \/ RequestResignation
  \/ PassFence \/ EndTransaction

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The guarantees *)

\* A transaction that has passed the fence may commit at any time, so it must have ended
\* before a later term is granted.  A term that a promotion has lost was never granted for
\* the database that lost it.
G1_Fence == tx.phase = "passed" => Order(tx.timeline, tx.term) >= kept

G2_OneBeliever == \A m, n \in Nodes : IsLeader(m) /\ IsLeader(n) => m = n

\* A term that is won is greater than every term that was granted before
G3_Terms == [][\A n \in Nodes :
  node[n].pos # "elected" /\ node'[n].pos = "elected" => Order(node'[n].timeline, node'[n].term) > granted]_vars

\* Terms are granted in their order
G3_Order == [][\A n \in Nodes :
  node[n].pos # "leading" /\ node'[n].pos = "leading" => Order(node[n].timeline, node[n].term) > granted]_vars

\* Nothing of the term runs when its lease is freed, unless its time was over; and a free row
\* without the name of a holder says that nothing runs
G4_HandOver ==
  /\ \A n \in Nodes : node[n].orderly => node[n].work # "running"
  /\ primary.token = None /\ primary.holder = None => \A n \in Nodes :
       ~(node[n].work = "running" /\ node[n].term = primary.term /\ node[n].timeline = primary.timeline)

\* No transaction delays a renewal
G6_RenewalsPass == \A n \in Nodes : node[n].call = "renewing" => ENABLED Renew(n)

-----------------------------------------------------------------------------
(* Equal for states whose difference nothing will read *)

\* With some mistakes, a version comes back or permits a takeover although it is another one
VersionsMatter == Mutant \in
  {"BEAT_NOT_COMPARED", "LATE_RENEWAL_TAKES_BEAT_BACK", "RENEWAL_NOT_FLUSHED", "TIMELINE_NOT_COMPARED",
   "TAKEOVER_AFTER_PROMOTION", "TERM_NOT_RAISED"}

\* A version that the row does not have any longer never comes back: a server that a promotion
\* takes back has another timeline
Seen(version) == IF version # <<>> /\ version # Version /\ ~VersionsMatter THEN <<None>> ELSE version

WillTakeEffect(n) ==
  LET statement == late[n] IN
    \/ VersionsMatter
    \/ statement.kind = "takeover" /\ Permits(statement)
    \/ statement.kind \in {"renewal", "release"} /\
         (IsLossy \/ (Has(n, statement.term, statement.timeline) /\ (statement.kind = "release" \/ Accepts(statement.beat))))

View ==
  <<[n \in Nodes |-> [node[n] EXCEPT !.seen = Seen(@), !.got = Seen(@),
       !.waited = IF Seen(node[n].seen) = <<None>> THEN 0 ELSE @]],
    [n \in Nodes |-> IF WillTakeEffect(n) THEN late[n] ELSE NoStatement],
    primary, standby, timeline, forks, granted, kept, tx, crashes>>

Symmetry == Permutations(Nodes)
=============================================================================
