------------------------------ MODULE NodeLease ------------------------------
(***************************************************************************)
(* The election with the lease table: a node has a session with a row and  *)
(* a beat, an election has an owner.  Nodes, their rows, the rows of the   *)
(* elections, and a transaction of leader work.  One action is one step of *)
(* the code between two points at which another process may act: a message *)
(* is sent, executed, and its reply is read.                               *)
(*                                                                         *)
(* Freeze and cut.  No action has to be taken, as in Election.  A message  *)
(* that was sent may take effect although its node has given the           *)
(* connection up, also on a server that was restarted or promoted          *)
(* meanwhile.                                                              *)
(*                                                                         *)
(* Time, as in Election.  A time that is measured on a clock of bounded    *)
(* drift is between a minimum and a maximum number of ticks:               *)
(*   the lease and the takeover delay, on others:  Lease, Delay ..         *)
(*   three quarters of the lease, on a leader:     1 .. Trust              *)
(* Without Clocks everything that waits for a time may happen at any time. *)
(*                                                                         *)
(* Tokens.  A token is the node that drew it and how many it has drawn.    *)
(*                                                                         *)
(* Beats.  A round of a session that neither owns nor holds anything reads *)
(* only.  Its row may be deleted as that of an idle session at any time.   *)
(*                                                                         *)
(* Promotion.  The former primary has ended.  The standby has an earlier   *)
(* version of all rows and of the transaction ids.                         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences, TLC

CONSTANTS
  Nodes,
  Elections,
  None,           \* no owner
  MaxTerm,        \* the number of transaction ids of an election on a timeline
  MaxBeat,        \* the number of beats of a session
  BeatsRepeat,    \* whether beats begin again after MaxBeat
  MaxSessions,    \* the number of tokens that a node draws
  MaxCrashes,     \* the number of crashes of the server
  MaxPromotions,  \* the number of promotions
  Promoted,       \* whether the last of them has just happened: a node has joined and owns an election
  Clocks,         \* whether there is time
  Work,           \* whether there are leader work and its transaction
  Lease,          \* the shortest time after which a follower considers a session as expired
  Trust,          \* the longest time for which a round is trusted
  Delay,          \* the shortest takeover delay, after which work that was interrupted has ended
  Faults,         \* "LOSS": connections are given up, "LATE": their messages take effect later, "END": sessions
                  \* and terms end at any time, "CRASH": nodes crash, "STOP": nodes delete their own row,
                  \* "IDLE": rows of idle sessions are deleted, "MISSING": rows are deleted by hand, "CLONE": a
                  \* node is copied
  Mutant          \* a seeded mistake, or "NONE"

VARIABLES
  node,      \* the session of each node
  elector,   \* what each node knows of each election
  late,      \* the message of each node that may take effect although the node does not wait for it
  primary,   \* the rows of the nodes and of the elections
  standby,   \* an earlier version of both
  timeline,  \* the timeline of the server
  forks,     \* the last term that each earlier timeline left to the next one, for each election
  granted,   \* the greatest term of each election that was granted
  kept,      \* the greatest of those whose takeover no promotion has lost
  tx,        \* one transaction of leader work
  crashes    \* how often the server has crashed

vars == <<node, elector, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

Is(mutant) == Mutant = mutant

(***************************************************************************)
(* A session.  token is <<>> without one.  stage is the state of the       *)
(* message in flight:                                                      *)
(*   "idle"      there is none                                             *)
(*   "sent"      it was sent                                               *)
(*   "raised"    a takeover has raised the own beat, and has not committed *)
(*   "read"      a round has read, by a mistake before it renews           *)
(*   "renewed"   a round has succeeded                                     *)
(*   "refused"   a round has changed no row                                *)
(* beat is the last one that was sent, sent the time since the start of    *)
(* the round, line the timeline of the server in the last reply, lineAge   *)
(* the time since the first reply that showed it.  dead is the last token  *)
(* whose row this node has deleted.                                        *)
(*                                                                         *)
(* An election on a node.  pos is "following", "elected", "leading",       *)
(* "draining", "notified", or "freeing".  seen is its last version in a    *)
(* reply, waited the time since the reply that first showed it.  age is    *)
(* the time since the start of the round that is trusted, delay what is    *)
(* left of the takeover delay before the grant.  taken is whether this     *)
(* session may own the election, by a takeover that it has sent.  Values   *)
(* that nothing will read are set back, so that equal states are equal.    *)
(***************************************************************************)
NoMessage == [kind |-> "none", e |-> None, token |-> <<>>, beat |-> 0, term |-> 0, timeline |-> 0, owner |-> <<>>,
  on |-> 0, xid |-> 0, clean |-> FALSE]

NewNode == [token |-> <<>>, drawn |-> 0, beat |-> 0, stage |-> "idle", sent |-> 0, line |-> 0, lineAge |-> 0,
  dead |-> <<>>, message |-> NoMessage]

NewElector == [pos |-> "following", term |-> 0, timeline |-> 0, age |-> 0, delay |-> 0, work |-> "none", closed |-> FALSE,
  overdue |-> 0, taken |-> FALSE, seen |-> <<>>, waited |-> 0]

\* A row that was never taken over counts as one of the first timeline
NewElection == [xid |-> 0, term |-> 0, timeline |-> 1, owner |-> <<>>, clean |-> TRUE]

NewDatabase == [rows |-> [n \in Nodes |-> [i \in 1 .. MaxSessions |-> 0]], of |-> [e \in Elections |-> NewElection]]

NoTx == [phase |-> "none", e |-> None, term |-> 0, timeline |-> 0, older |-> FALSE, fresh |-> FALSE]

\* Terms are compared as timeline, then transaction id
Order(onTimeline, term) == (MaxTerm + 1) * onTimeline + term

\* The node has read something before the promotion only.  All terms of its election are used up.
JustPromoted ==
  \E n \in Nodes : LET e == CHOOSE e \in Elections : TRUE IN
    /\ node = [[m \in Nodes |-> NewNode] EXCEPT ![n].token = <<n, 1>>, ![n].drawn = 1, ![n].beat = 1, ![n].line = 1]
    /\ primary = [NewDatabase EXCEPT !.rows[n][1] = 1,
         !.of[e] = [NewElection EXCEPT !.xid = MaxTerm, !.term = 1, !.owner = <<n, 1>>, !.clean = FALSE]]
    /\ timeline = MaxPromotions + 1
    /\ forks = [f \in Elections |-> [t \in 1 .. MaxPromotions |-> Order(1, IF f = e THEN 1 ELSE 0)]]

NotPromoted ==
  /\ node = [n \in Nodes |-> NewNode]
  /\ primary = NewDatabase /\ timeline = 1
  /\ forks = [e \in Elections |-> <<>>]

Init ==
  /\ IF Promoted THEN JustPromoted ELSE NotPromoted
  /\ elector = [n \in Nodes |-> [e \in Elections |-> [NewElector EXCEPT
       !.taken = primary.of[e].owner # <<>> /\ primary.of[e].owner = node[n].token]]]
  /\ late = [n \in Nodes |-> NoMessage]
  /\ standby = NewDatabase
  /\ granted = [e \in Elections |-> 0] /\ kept = [e \in Elections |-> 0]
  /\ crashes = 0 /\ tx = NoTx

Least(a, b) == IF a < b THEN a ELSE b

Greatest(a, b) == IF a > b THEN a ELSE b

Max(numbers) == CHOOSE a \in numbers : \A b \in numbers : b <= a

\* A promotion has lost the takeover
IsLost(e, onTimeline, term) ==
  \E t \in onTimeline .. Len(forks[e]) : Order(onTimeline, term) > forks[e][t]

LongestTrust == IF Is("FULL_LEASE_TRUSTED") THEN Trust + 1 ELSE Trust

\* The beat of a row, 0 without a row
Row(token) == IF token = <<>> THEN 0 ELSE primary.rows[token[1]][token[2]]

WithRow(database, token, beat) == [database EXCEPT !.rows[token[1]][token[2]] = beat]

IsLeader(n, e) == elector[n][e].pos = "leading" /\ elector[n][e].age < LongestTrust

\* The node has a term that it has not lost, and has not begun to free
Holds(n, e) == elector[n][e].pos \notin {"following", "freeing"}

\* A transaction holds FOR SHARE on the row of the election
IsShared(e) == tx.phase = "passed" /\ tx.e = e /\ ~Is("OPEN_FENCE")

\* A takeover has changed the row of its node, and has not committed
IsLocked(token) == \E n \in Nodes : node[n].stage = "raised" /\ node[n].message.token = token

\* What a reply shows of an election: its term, the timeline of that, its owner, the beat of the
\* owner's row, whether it was released clean, and the timeline of the server
Version(e) ==
  LET row == primary.of[e] IN
    <<row.term, row.timeline, IF row.owner = <<>> THEN None ELSE row.owner[1],
      IF row.owner = <<>> THEN 0 ELSE row.owner[2], Row(row.owner), row.clean, timeline>>

OwnerOf(seen) == IF seen = <<>> \/ seen[3] = None THEN <<>> ELSE <<seen[3], seen[4]>>

IsSameLine(a, b) == a[7] = b[7] \/ Is("TIMELINE_NOT_COMPARED")

\* The row of an owner with the same beat, or the same election without such a row
IsSame(got, seen) ==
  /\ seen # <<>> /\ IsSameLine(got, seen)
  /\ IF got[5] > 0
       THEN OwnerOf(got) = OwnerOf(seen) /\ got[5] = seen[5]
       ELSE \/ SubSeq(got, 1, 6) = SubSeq(seen, 1, 6)
            \/ Is("MISSING_SINCE_LAST_SIGHT") /\ OwnerOf(got) # <<>> /\ OwnerOf(got) = OwnerOf(seen)

\* A time has passed, or there is no time
Passed(time, limit) == time >= limit \/ ~Clocks

\* The server has been promoted since the takeover
IsOutdated(seen) == seen[2] # seen[7] /\ ~Is("FREE_AFTER_PROMOTION")

\* A session has been silent for its lease
HasExpired(n, e) ==
  LET seen == elector[n][e].seen IN
    /\ OwnerOf(seen) \notin {<<>>, node[n].token}
    /\ IsOutdated(seen) => Passed(node[n].lineAge, Lease)
    /\ \/ Passed(elector[n][e].waited, Lease)
       \/ Mutant \in {"OUTDATED_OWNER_DELETED", "OUTDATED_OWNER_EXPIRES"} /\ IsOutdated(seen)

\* Nobody owns the election, or a session that was ended after its lease, or whose row this node has
\* deleted or has missed for a lease
IsFree(n, e) ==
  LET seen == elector[n][e].seen
      owner == OwnerOf(seen)
  IN /\ seen # <<>>
     /\ IsOutdated(seen) => Passed(node[n].lineAge, Lease)
     /\ \/ owner \in {<<>>, node[n].dead}
        \/ seen[5] = 0 /\ seen[6]
        \/ seen[5] = 0 /\ (HasExpired(n, e) \/ Is("MISSING_ROW_IS_EXPIRED"))
        \/ HasExpired(n, e) /\ Is("TAKEN_FROM_ROW")

\* Work of the last term has ended: it was released clean, or its lease has expired
IsClean(n, e) ==
  LET seen == elector[n][e].seen
      owner == OwnerOf(seen)
  IN \/ Delay = 0 \/ ~Clocks \/ Is("UNCLEAN_GRANTED_AT_ONCE")
     \/ owner # <<>> \/ seen[6]

-----------------------------------------------------------------------------
(* Time *)

\* Work of an election that was freed although it ran has ended after the takeover delay
WorkHasEnded ==
  Delay > 0 => \A n \in Nodes, e \in Elections : ~(elector[n][e].work = "running" /\ elector[n][e].overdue >= Delay)

Tick ==
  /\ Clocks /\ WorkHasEnded
  /\ elector' = [n \in Nodes |-> [e \in Elections |-> [elector[n][e] EXCEPT
       !.age = IF elector[n][e].pos = "leading" THEN Least(@ + 1, LongestTrust) ELSE @,
       !.delay = Greatest(@ - 1, 0),
       !.overdue = IF @ > 0 THEN @ + 1 ELSE 0,
       !.waited = IF elector[n][e].seen # <<>> THEN Least(@ + 1, Lease) ELSE @]]]
  /\ node' = [n \in Nodes |-> [node[n] EXCEPT
       !.sent = IF node[n].message.kind \in {"round", "takeover"} THEN Least(@ + 1, Greatest(LongestTrust, Lease)) ELSE @,
       !.lineAge = IF MaxPromotions > 0 /\ node[n].line > 0 THEN Least(@ + 1, Lease) ELSE @]]
  /\ tx' = [tx EXCEPT !.fresh = FALSE]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, crashes>>

-----------------------------------------------------------------------------
(* The server *)

\* Whether versions of the rows may be lost, once or once more
IsLossy == timeline <= MaxPromotions \/ (Is("RENEWAL_NOT_FLUSHED") /\ crashes < MaxCrashes)

\* The standby has received everything up to now, or a mistake has everything flushed up to now
Replicate ==
  /\ IsLossy /\ standby # primary
  /\ standby' = primary
  /\ UNCHANGED <<node, elector, late, primary, timeline, forks, granted, kept, tx, crashes>>

\* Beats are all that was not flushed: no row has been inserted or deleted, no election has changed
OnlyBeatsDiffer ==
  /\ standby.of = primary.of
  /\ \A n \in Nodes, i \in 1 .. MaxSessions : (standby.rows[n][i] = 0) = (primary.rows[n][i] = 0)

\* The replies of what the server was executing, or has not executed, do not arrive
Broken(n) == [node[n] EXCEPT !.stage = IF @ \in {"read", "raised"} THEN "sent" ELSE @, !.message.xid = 0]

\* Everything that anybody has seen was flushed
ServerCrashes ==
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ primary' = IF Is("RENEWAL_NOT_FLUSHED") /\ OnlyBeatsDiffer THEN standby ELSE primary
  /\ node' = [n \in Nodes |-> Broken(n)]
  /\ tx' = NoTx
  /\ UNCHANGED <<elector, late, standby, timeline, forks, granted, kept>>

Promote ==
  /\ timeline <= MaxPromotions
  /\ timeline' = timeline + 1
  /\ primary' = standby
  /\ LET last(e) == Order(standby.of[e].timeline, standby.of[e].term) IN
       /\ forks' = [e \in Elections |-> Append(forks[e], last(e))]
       /\ kept' = [e \in Elections |-> Least(kept[e], last(e))]
  /\ standby' = IF timeline = MaxPromotions THEN NewDatabase ELSE standby
  /\ node' = [n \in Nodes |-> Broken(n)]
  /\ tx' = NoTx
  /\ UNCHANGED <<elector, late, granted, crashes>>

\* Somebody truncates the table of the nodes
DeleteByHand ==
  /\ "MISSING" \in Faults
  /\ \E n \in Nodes, i \in 1 .. MaxSessions : primary.rows[n][i] > 0
  /\ \A n \in Nodes : node[n].stage # "raised"
  /\ primary' = [primary EXCEPT !.rows = NewDatabase.rows]
  /\ UNCHANGED <<node, elector, late, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* What a message does, in its own transaction.  Only a round waits for a  *)
(* row that is locked.                                                     *)

\* No beat goes back, and no two rounds have the same one
Accepts(m) ==
  Row(m.token) > 0 /\ (Row(m.token) < m.beat \/ BeatsRepeat \/ (Is("BEAT_INCREMENTED") /\ Row(m.token) < MaxBeat))

NextBeat(m) == IF Is("BEAT_INCREMENTED") THEN Row(m.token) + 1 ELSE m.beat

\* The row is as it was seen, and so is the timeline of the server
Permits(m) ==
  LET row == primary.of[m.e] IN
    /\ (row.term = m.term /\ row.timeline = m.timeline) \/ Is("TERM_NOT_COMPARED")
    /\ row.owner = m.owner \/ Is("OWNER_NOT_COMPARED")
    /\ Row(row.owner) = 0 \/ Is("TAKEN_FROM_ROW")
    /\ timeline = m.on \/ Is("TAKEOVER_AFTER_PROMOTION")
    /\ ~IsShared(m.e)

\* The transaction id is assigned when the own beat is raised
Xid(m) == IF m.xid > 0 THEN m.xid ELSE primary.of[m.e].xid + 1

\* A takeover goes on if it has changed the row of its session
GoesOn(m) == Accepts(m) \/ Is("ROW_COUNT_IGNORED")

\* The own beat has been raised
Raised(m) ==
  IF ~Accepts(m) \/ Is("OWN_ROW_LOCKED_ONLY") \/ Is("OWN_ROW_LOCKED_AND_GRANTED")
    THEN primary ELSE WithRow(primary, m.token, NextBeat(m))

\* An id that is not used may be assigned again, so that attempts do not use them up
NotTaken(m) == [Raised(m) EXCEPT !.of[m.e].xid = IF m.xid > 0 /\ @ = m.xid THEN m.xid - 1 ELSE @]

Taken(m) ==
  IF Permits(m)
    THEN [Raised(m) EXCEPT !.of[m.e] = [xid |-> Greatest(@.xid, Xid(m)), term |-> Xid(m), timeline |-> timeline,
           owner |-> m.token, clean |-> @.clean /\ Is("TAKEN_STAYS_CLEAN")]]
    ELSE NotTaken(m)

Deletes(m) ==
  /\ Row(m.token) = m.beat \/ (Is("BEAT_NOT_COMPARED") /\ Row(m.token) > 0)
  /\ timeline = m.on \/ Is("DELETE_AFTER_PROMOTION")
  /\ ~IsLocked(m.token)

\* What a session owned that is ended after its lease is marked, so that nobody waits for another one
Ended(token) == [WithRow(primary, token, 0) EXCEPT !.of = [e \in Elections |->
  IF @[e].owner = token /\ ~IsShared(e) THEN [@[e] EXCEPT !.clean = TRUE] ELSE @[e]]]

Frees(m) ==
  LET row == primary.of[m.e] IN
    /\ row.owner = m.token /\ ~IsShared(m.e)
    /\ (row.term = m.term /\ row.timeline = m.timeline) \/ Is("RELEASE_WITHOUT_TERM")

OwnsNothing(token) == \A e \in Elections : primary.of[e].owner # token

After(m) ==
  CASE m.kind = "round" /\ Accepts(m) -> WithRow(primary, m.token, NextBeat(m))
    [] m.kind = "takeover" /\ GoesOn(m) /\ Xid(m) <= MaxTerm -> Taken(m)
    [] m.kind = "delete" /\ Deletes(m) -> Ended(m.token)
    [] m.kind = "release" /\ Frees(m) -> [primary EXCEPT !.of[m.e].owner = <<>>, !.of[m.e].clean = m.clean]
    [] m.kind = "end" /\ (OwnsNothing(m.token) \/ Is("ROW_DELETED_WHILE_OWNING")) /\ ~IsLocked(m.token) ->
         WithRow(primary, m.token, 0)
    [] OTHER -> primary

-----------------------------------------------------------------------------
(* The end of sessions and terms *)

\* A message that was sent and not executed, or that the server has not completed
IsPending(n) == node[n].stage \in {"sent", "read", "raised"}

\* One message at most is late
LateAfter(n) ==
  IF "LATE" \in Faults /\ IsPending(n) THEN [late EXCEPT ![n] = [node[n].message EXCEPT !.xid = 0]] ELSE late

\* The term of an election is over on this node.  Its work is interrupted, but may go on.
Follow(state, seen, waited) ==
  [NewElector EXCEPT
    !.seen = seen, !.waited = waited, !.work = state.work, !.closed = state.closed, !.overdue = state.overdue,
    !.taken = state.taken,
    !.term = IF state.work # "none" THEN state.term ELSE 0,
    !.timeline = IF state.work # "none" THEN state.timeline ELSE 0]

FollowAll(n) == [e \in Elections |->
  [Follow(elector[n][e], elector[n][e].seen, elector[n][e].waited) EXCEPT !.taken = FALSE]]

WithoutSession(n) ==
  [node[n] EXCEPT !.token = <<>>, !.beat = 0, !.stage = "idle", !.sent = 0, !.message = NoMessage]

IsLapsed(n, e) == elector[n][e].pos = "leading" /\ elector[n][e].age >= LongestTrust

HasLapsed(n) == \E e \in Elections : IsLapsed(n, e)

\* With beats that are not counted by the node, no node finds out that it shares its token
IsAnyoneFreed == Is("CLONE_FREES") \/ Is("BEAT_INCREMENTED")

\* The session owns an election that it has not taken
SharesToken(n) ==
  /\ ~IsAnyoneFreed /\ node[n].stage = "idle"
  /\ \E e \in Elections :
       elector[n][e].pos = "following" /\ ~elector[n][e].taken /\ OwnerOf(elector[n][e].seen) = node[n].token

\* Trust has lapsed, what nobody leads was not freed for a lease, or somebody else has this token
EndSession(n) ==
  /\ "END" \in Faults \/ HasLapsed(n) \/ SharesToken(n)
  /\ node[n].token # <<>>
  /\ late' = LateAfter(n)
  /\ node' = [node EXCEPT ![n] = WithoutSession(n)]
  /\ elector' = [elector EXCEPT ![n] = FollowAll(n)]
  /\ UNCHANGED <<primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The row is gone, somebody else has this token, or the server was promoted
LoseSession(n) ==
  /\ node[n].stage = "refused"
  /\ node' = [node EXCEPT ![n] = WithoutSession(n)]
  /\ elector' = [elector EXCEPT ![n] = FollowAll(n)]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* An election ends its term: it has failed, or its trust has lapsed.  The session and its other
\* elections go on.
LoseTerm(n, e) ==
  /\ Holds(n, e) /\ ("END" \in Faults \/ IsLapsed(n, e))
  /\ elector' = [elector EXCEPT ![n][e] = Follow(elector[n][e], elector[n][e].seen, elector[n][e].waited)]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The election of a takeover or release whose reply does not come follows
AfterCall(n, m) ==
  IF m.kind = "release"
    THEN [elector EXCEPT ![n][m.e] = IF @.pos = "freeing" THEN Follow(@, <<>>, 0) ELSE [@ EXCEPT !.seen = <<>>, !.waited = 0]]
    ELSE elector

\* The connection is given up.  The session goes on, on another one.
LoseConnection(n) ==
  /\ "LOSS" \in Faults /\ IsPending(n) /\ late[n] = NoMessage
  /\ "CLONE" \in Faults => node[n].message.kind = "round"
  /\ late' = LateAfter(n)
  /\ node' = [node EXCEPT ![n] = IF @.message.kind = "end" THEN WithoutSession(n)
       ELSE [@ EXCEPT !.stage = "idle", !.sent = 0, !.message = NoMessage]]
  /\ elector' = AfterCall(n, node[n].message)
  /\ UNCHANGED <<primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The process dies.  It may be started again.
NodeCrashes(n) ==
  /\ "CRASH" \in Faults /\ node[n].token # <<>>
  /\ late' = LateAfter(n)
  /\ node' = [node EXCEPT ![n] = [NewNode EXCEPT !.drawn = node[n].drawn]]
  /\ elector' = [elector EXCEPT ![n] = [e \in Elections |-> NewElector]]
  /\ UNCHANGED <<primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* A machine is copied while its node follows: two processes have the same token.  There is no other
\* one, so that nothing expires.
Clone(n, copy) ==
  /\ "CLONE" \in Faults /\ node[copy] = NewNode
  /\ node[n].token # <<>> /\ node[n].stage = "idle" /\ \A e \in Elections : elector[n][e].pos = "following"
  /\ node' = [node EXCEPT ![copy] = [node[n] EXCEPT !.drawn = 0]]
  /\ elector' = [elector EXCEPT ![copy] = elector[n]]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Sessions *)

Send(n, m) == [node[n] EXCEPT !.stage = "sent", !.sent = 0, !.message = m]

\* A join whose reply does not come is a session that ends at once
Join(n) ==
  /\ node[n].token = <<>> /\ node[n].drawn < MaxSessions
  /\ "CLONE" \in Faults => \A m \in Nodes : node[m].drawn = 0
  /\ LET token == <<n, node[n].drawn + 1>> IN
       /\ primary' = WithRow(primary, token, 1)
       /\ node' = [node EXCEPT ![n].token = token, ![n].drawn = @ + 1, ![n].beat = 1]
  /\ UNCHANGED <<elector, late, standby, timeline, forks, granted, kept, tx, crashes>>

IsIdle(n) == node[n].token # <<>> /\ node[n].stage = "idle"

IsOwner(n) == \E e \in Elections : Holds(n, e) \/ OwnerOf(elector[n][e].seen) = node[n].token

\* Whether the round renews, and not only reads
Beats(n) == IsOwner(n) \/ (\E e \in Elections : elector[n][e].taken) \/ "CLONE" \in Faults

CanBeat(n) == node[n].beat < MaxBeat \/ BeatsRepeat

Following(beat) == IF beat = MaxBeat THEN 1 ELSE beat + 1

BeginRound(n) ==
  /\ IsIdle(n) /\ (~HasLapsed(n) \/ Is("LAPSED_SESSION_RENEWED"))
  /\ IF Beats(n) THEN CanBeat(n) ELSE Is("EXPIRY_FROM_REQUEST")
  /\ LET beat == IF Beats(n) THEN Following(node[n].beat) ELSE 0 IN
       node' = [node EXCEPT ![n] =
         [Send(n, [NoMessage EXCEPT !.kind = "round", !.token = node[n].token, !.beat = beat]) EXCEPT
           !.beat = IF beat > 0 THEN beat ELSE @]]
  /\ UNCHANGED <<elector, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The time since the first reply that showed this version, through any election
Waited(n, got) ==
  Max({0} \union {elector[n][e].waited : e \in {e \in Elections : IsSame(got, elector[n][e].seen)}})

Observed(n) == [e \in Elections |-> [elector[n][e] EXCEPT !.seen = Version(e),
  !.taken = @ /\ (Holds(n, e) \/ primary.of[e].owner = node[n].token),
  !.waited = IF Clocks /\ ~Holds(n, e)
    THEN Greatest(Waited(n, Version(e)), IF Is("EXPIRY_FROM_REQUEST") THEN Least(node[n].sent, Lease) ELSE 0)
    ELSE 0]]

\* The node has observed another timeline
IsRestarted(n) == node[n].line \notin {0, timeline}

\* A promotion does not end sessions, nor their terms
IsKept == Mutant \in {"TERM_OUTLIVES_PROMOTION", "OUTDATED_OWNER_DELETED"}

\* The reply of a round.  A promotion ends the session, and nothing that was observed before counts.
ToObserve(n, stage) ==
  LET new == IF IsRestarted(n) THEN [node[n] EXCEPT !.lineAge = 0, !.dead = <<>>] ELSE node[n]
  IN
    /\ node' = [node EXCEPT ![n] = [new EXCEPT
         !.stage = IF IsRestarted(n) /\ ~IsKept THEN "refused" ELSE stage,
         !.line = IF MaxPromotions > 0 THEN timeline ELSE 0]]
    /\ elector' = [elector EXCEPT ![n] = Observed(n)]

\* The round has changed its row, or has only read and found it
Succeeds(m) ==
  \/ IF m.beat > 0 THEN Accepts(m) ELSE Row(m.token) > 0
  \/ Is("MISSING_ROW_CONFIRMS") /\ Row(m.token) = 0
  \/ Is("GREATER_BEAT_CONFIRMS") /\ Row(m.token) > 0

\* Only a mistake reads before the renewal, which may have waited since
ReadFirst(n) ==
  /\ Is("READ_BEFORE_RENEWAL") /\ node[n].stage = "sent" /\ node[n].message.kind = "round"
  /\ ToObserve(n, "read")
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* First the renewal, then what the next statement shows.  The wait counts from here.  In the code
\* it counts from the reply, which is later.
ExecuteRound(n) ==
  LET m == node[n].message
      stage == IF Succeeds(m) THEN "renewed" ELSE "refused"
  IN
    /\ node[n].stage = (IF Is("READ_BEFORE_RENEWAL") THEN "read" ELSE "sent") /\ m.kind = "round"
    /\ primary' = IF m.beat > 0 THEN After(m) ELSE primary
    /\ IF Is("READ_BEFORE_RENEWAL")
         THEN node' = [node EXCEPT ![n].stage = stage] /\ UNCHANGED elector
         ELSE ToObserve(n, stage)
    /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

\* A round of a session that neither holds nor owns anything: no trust depends on its start
Read(n) ==
  /\ IsIdle(n) /\ ~Beats(n) /\ ~Is("EXPIRY_FROM_REQUEST")
  /\ ToObserve(n, IF Row(node[n].token) > 0 THEN "idle" ELSE "refused")
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The owner is this node, in this term
IsConfirmed(n, e) ==
  LET state == elector[n][e] IN
    OwnerOf(state.seen) = node[n].token /\ state.seen[1] = state.term /\ state.seen[2] = state.timeline

\* Trust counts from the start of the round, whenever its reply is read
Anchor(n) == IF Is("ANCHOR_AT_REPLY") THEN 0 ELSE Least(node[n].sent, LongestTrust)

\* The takeover delay is over, and a round that began after the takeover has confirmed it
IsGranted(n, e) ==
  elector[n][e].pos = "elected" /\ elector[n][e].delay = 0 /\ IsConfirmed(n, e) /\ Anchor(n) < LongestTrust

AfterRound(n, e) ==
  LET state == elector[n][e] IN
    CASE IsGranted(n, e) -> [state EXCEPT !.pos = "leading", !.age = Anchor(n), !.seen = <<>>]
      [] state.pos = "leading" /\ IsConfirmed(n, e) -> [state EXCEPT !.age = Anchor(n), !.seen = <<>>]
      [] state.pos \in {"elected", "draining", "notified"} /\ IsConfirmed(n, e) -> [state EXCEPT !.seen = <<>>]
      [] Holds(n, e) /\ ~IsConfirmed(n, e) -> Follow(state, state.seen, state.waited)
      [] OTHER -> state

ToGrant(n, elections) ==
  LET term(e) == Order(elector'[n][e].timeline, elector'[n][e].term) IN
    /\ granted' = [e \in Elections |-> IF e \in elections THEN Greatest(granted[e], term(e)) ELSE granted[e]]
    /\ kept' = [e \in Elections |->
         IF e \in elections /\ ~IsLost(e, elector'[n][e].timeline, elector'[n][e].term)
           THEN Greatest(kept[e], term(e)) ELSE kept[e]]

\* All elections of the node read the reply: grants, extensions, and terms that are over.  A late
\* success never revives a session.
EndRound(n) ==
  /\ node[n].stage = "renewed" /\ (~HasLapsed(n) \/ Is("LAPSED_SESSION_RENEWED"))
  /\ elector' = [elector EXCEPT ![n] = [e \in Elections |-> AfterRound(n, e)]]
  /\ ToGrant(n, {e \in Elections : IsGranted(n, e)})
  /\ node' = [node EXCEPT ![n].stage = "idle", ![n].sent = 0, ![n].message = NoMessage]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, tx, crashes>>

\* The node stops.  The statement finds out whether the session owns nothing.
StartEnd(n) ==
  /\ "STOP" \in Faults /\ IsIdle(n)
  /\ \A e \in Elections : elector[n][e].pos = "following"
  /\ node' = [node EXCEPT ![n] = Send(n, [NoMessage EXCEPT !.kind = "end", !.token = node[n].token])]
  /\ UNCHANGED <<elector, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

DeleteOwnRow(n) ==
  /\ node[n].stage = "sent" /\ node[n].message.kind = "end"
  /\ primary' = After(node[n].message)
  /\ node' = [node EXCEPT ![n] = WithoutSession(n)]
  /\ UNCHANGED <<elector, late, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Expiry and takeover *)

\* What this node knows of an election has to be read again
Unseen(n, e) == [elector EXCEPT ![n][e].seen = <<>>, ![n][e].waited = 0]

\* The takeover has changed nothing
NotWon(n, e) == [Unseen(n, e) EXCEPT ![n][e].taken = FALSE]

StartDelete(n, e) ==
  LET seen == elector[n][e].seen IN
    /\ IsIdle(n) /\ elector[n][e].pos = "following" /\ elector[n][e].work = "none"
    /\ seen # <<>> /\ seen[5] > 0 /\ HasExpired(n, e) /\ OwnerOf(seen) # node[n].dead
    /\ node' = [node EXCEPT ![n] = Send(n, [NoMessage EXCEPT
         !.kind = "delete", !.e = e, !.token = OwnerOf(seen), !.beat = seen[5], !.on = seen[7]])]
    /\ UNCHANGED <<elector, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* A session that owns nothing.  It has no trust, so that the time after which it is deleted does
\* not matter.
StartDeleteIdle(n, token) ==
  /\ "IDLE" \in Faults /\ IsIdle(n) /\ node[n].token # token
  /\ Row(token) > 0 /\ OwnsNothing(token)
  /\ node' = [node EXCEPT ![n] = Send(n, [NoMessage EXCEPT
       !.kind = "delete", !.token = token, !.beat = Row(token), !.on = timeline])]
  /\ UNCHANGED <<elector, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

Delete(n) ==
  LET m == node[n].message IN
    /\ node[n].stage = "sent" /\ m.kind = "delete"
    /\ primary' = After(m)
    /\ node' = [node EXCEPT ![n].stage = "idle", ![n].message = NoMessage,
         ![n].dead = IF Deletes(m) THEN m.token ELSE @]
    /\ elector' = IF Deletes(m) \/ m.e = None THEN elector ELSE Unseen(n, m.e)
    /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

StartTakeover(n, e) ==
  LET seen == elector[n][e].seen IN
    /\ IsIdle(n) /\ elector[n][e].pos = "following" /\ elector[n][e].work = "none"
    /\ IsFree(n, e) /\ CanBeat(n)
    /\ node' = [node EXCEPT ![n] = [Send(n, [NoMessage EXCEPT
         !.kind = "takeover", !.e = e, !.token = node[n].token, !.beat = Following(node[n].beat),
         !.term = seen[1], !.timeline = seen[2], !.owner = OwnerOf(seen), !.on = seen[7],
         !.clean = IsClean(n, e)]) EXCEPT !.beat = Following(@)]]
    /\ elector' = [elector EXCEPT ![n][e].taken = TRUE]
    /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* The first statement of a takeover.  The transaction id is assigned.
RaiseBeat(n) ==
  LET m == node[n].message IN
    /\ node[n].stage = "sent" /\ m.kind = "takeover"
    /\ IF GoesOn(m) /\ ~IsLocked(m.token)
         THEN /\ Xid(m) <= MaxTerm
              /\ primary' = [primary EXCEPT !.of[m.e].xid = Xid(m)]
              /\ node' = [node EXCEPT ![n].stage = "raised", ![n].message.xid = Xid(m)]
              /\ UNCHANGED elector
         ELSE /\ node' = [node EXCEPT ![n].stage = "idle", ![n].message = NoMessage, ![n].sent = 0]
              /\ elector' = NotWon(n, m.e)
              /\ UNCHANGED primary
    /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

IsTrustedAtOnce == Is("GRANT_ON_TAKEOVER") \/ Is("OWN_ROW_LOCKED_AND_GRANTED")

\* The second statement, and the commit.  The takeover delay begins.
TakeOver(n) ==
  LET m == node[n].message
      permitted == Permits(m)
      trusted == permitted /\ IsTrustedAtOnce /\ node[n].sent < LongestTrust
  IN /\ node[n].stage = "raised"
     /\ primary' = Taken(m)
     /\ node' = [node EXCEPT ![n].stage = "idle", ![n].message = NoMessage, ![n].sent = 0]
     /\ elector' = IF permitted
          THEN [elector EXCEPT ![n][m.e].pos = IF trusted THEN "leading" ELSE "elected",
                 ![n][m.e].age = IF trusted THEN node[n].sent ELSE 0,
                 ![n][m.e].delay = IF m.clean THEN 0 ELSE Delay,
                 ![n][m.e].term = m.xid, ![n][m.e].timeline = timeline, ![n][m.e].seen = <<>>, ![n][m.e].waited = 0]
          ELSE NotWon(n, m.e)
     /\ IF trusted THEN ToGrant(n, {m.e}) ELSE UNCHANGED <<granted, kept>>
     /\ UNCHANGED <<late, standby, timeline, forks, tx, crashes>>

\* Only a mistake reads the reply of a round that began before the takeover: it shows the
\* owner of before
ReadStaleSnapshot(n, e) ==
  /\ Is("STALE_SNAPSHOT_ACCEPTED") /\ elector[n][e].pos = "elected" /\ node[n].stage = "idle"
  /\ elector' = [elector EXCEPT ![n][e] = Follow(@, <<>>, 0)]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Messages of connections that were given up *)

ExecuteLate(n) ==
  /\ late[n] # NoMessage
  /\ ~IsLocked(late[n].token)
  /\ primary' = After(late[n])
  /\ late' = [late EXCEPT ![n] = NoMessage]
  /\ UNCHANGED <<node, elector, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Leader work *)

StartWork(n, e) ==
  /\ Work /\ IsLeader(n, e) /\ elector[n][e].work = "none"
  /\ elector' = [elector EXCEPT ![n][e].work = "running"]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

EndWork(n, e) ==
  /\ elector[n][e].work = "running"
  /\ elector' = [elector EXCEPT ![n][e] =
       LET ended == [@ EXCEPT !.work = "none", !.closed = FALSE, !.overdue = 0] IN
         IF @.pos = "following" THEN Follow(ended, @.seen, @.waited) ELSE ended]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* Handing over *)

\* The gate is shut.  Without work there is nothing to drain.
BeginHandOver(n, e) ==
  /\ elector[n][e].pos = "leading" /\ ~HasLapsed(n) /\ node[n].stage = "idle"
  /\ elector' = [elector EXCEPT ![n][e].pos = IF Work THEN "draining" ELSE "notified", ![n][e].age = 0]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* No work is in flight: now the listeners of the revoked event run
NotifyListeners(n, e) ==
  /\ elector[n][e].pos = "draining" /\ (elector[n][e].work = "none" \/ Is("RELEASE_BEFORE_DRAIN"))
  /\ elector' = [elector EXCEPT ![n][e].pos = "notified"]
  /\ UNCHANGED <<node, late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

\* From here on, no transaction of this term passes the fence on this node
SendRelease(n, e, term, onTimeline, clean) ==
  /\ IsIdle(n)
  /\ node' = [node EXCEPT ![n] = Send(n, [NoMessage EXCEPT
       !.kind = "release", !.e = e, !.token = node[n].token, !.term = term, !.timeline = onTimeline, !.clean = clean])]
  /\ UNCHANGED <<late, primary, standby, timeline, forks, granted, kept, tx, crashes>>

CompleteHandOver(n, e, clean) ==
  /\ SendRelease(n, e, elector[n][e].term, elector[n][e].timeline, clean)
  /\ elector' = [elector EXCEPT ![n][e].pos = "freeing", ![n][e].closed = elector[n][e].work = "running", ![n][e].delay = 0]

\* All work and listeners have ended
FreeInOrder(n, e) == elector[n][e].pos = "notified" /\ CompleteHandOver(n, e, TRUE)

\* drain-timeout, the interrupt and the grace are over
FreeOverdue(n, e) == Work /\ elector[n][e].pos \in {"draining", "notified"} /\ CompleteHandOver(n, e, FALSE)

\* The term was won, but the node is to leave before the grant.  Work of an earlier term may still run.
FreeUngranted(n, e) ==
  /\ elector[n][e].pos = "elected"
  /\ CompleteHandOver(n, e, Is("UNGRANTED_FREED_CLEAN"))

\* The session owns an election in a term that its election does not hold.  Work of an earlier
\* term may still run.  A session that has not taken the election shares its token.
FreeUnled(n, e) ==
  LET state == elector[n][e] IN
    /\ ~Is("UNLED_KEPT")
    /\ state.pos = "following" /\ OwnerOf(state.seen) = node[n].token /\ node[n].token # <<>>
    /\ state.taken \/ IsAnyoneFreed
    /\ SendRelease(n, e, state.seen[1], state.seen[2], Is("UNLED_FREED_CLEAN"))
    /\ elector' = [elector EXCEPT ![n][e].closed = state.work = "running"]

\* A release of a row that is locked is repeated as one of an election that is not led
Release(n) ==
  LET m == node[n].message IN
    /\ node[n].stage = "sent" /\ m.kind = "release"
    /\ primary' = After(m)
    /\ node' = [node EXCEPT ![n].stage = "idle", ![n].message = NoMessage]
    /\ elector' = [AfterCall(n, m) EXCEPT
         ![n][m.e].taken = @ /\ (~Frees(m) \/ Is("RELEASED_STILL_TAKEN")),
         ![n][m.e].overdue = IF Clocks /\ Delay > 0 /\ elector[n][m.e].work = "running" /\ Frees(m) THEN 1 ELSE @]
    /\ UNCHANGED <<late, standby, timeline, forks, granted, kept, tx, crashes>>

-----------------------------------------------------------------------------
(* A transaction of leader work, on a connection of the application.  It   *)
(* may be paused between any two steps, and a statement or commit that was *)
(* sent takes effect although the node has crashed since.                  *)

\* The row of the election has the term of the transaction, and its owner
HasTerm(t) ==
  LET row == primary.of[t.e] IN
    /\ row.term = t.term \/ Is("FENCE_WITHOUT_TERM")
    /\ row.timeline = t.timeline \/ Is("FENCE_WITHOUT_TIMELINE")
    /\ row.owner # <<>>

\* The owner has a row
Passes(t) == HasTerm(t) /\ (Row(primary.of[t.e].owner) > 0 \/ Is("FENCE_WITHOUT_ROW"))

\* A node that releases lets none of its transactions pass
IsReleased(t) == ~Is("RELEASING_PASSES") /\ \E n \in Nodes :
  elector[n][t.e].closed /\ elector[n][t.e].term = t.term /\ elector[n][t.e].timeline = t.timeline

\* Under REPEATABLE READ or SERIALIZABLE, a transaction sees the rows as they were
Begin(n, e) ==
  /\ tx.phase = "none" /\ elector[n][e].work = "running"
  /\ LET t == [NoTx EXCEPT !.phase = "begun", !.e = e, !.term = elector[n][e].term, !.timeline = elector[n][e].timeline]
     IN \E older \in {FALSE, Passes(t)} : tx' = [t EXCEPT !.older = older]
  /\ UNCHANGED <<node, elector, late, primary, standby, timeline, forks, granted, kept, crashes>>

\* A transaction with an older snapshot still finds the row of the owner, but fails if the row
\* of the election has changed
PassFence ==
  /\ tx.phase = "begun" /\ ~IsReleased(tx)
  /\ Passes(tx) \/ (tx.older /\ HasTerm(tx))
  /\ tx' = [tx EXCEPT !.phase = "passed", !.older = FALSE, !.fresh = Clocks]
  /\ UNCHANGED <<node, elector, late, primary, standby, timeline, forks, granted, kept, crashes>>

\* Another one passes before this one ends, so that the row remains locked
Overlap(n, e) ==
  /\ tx.phase = "passed" /\ ~tx.fresh /\ tx.e = e /\ elector[n][e].work = "running"
  /\ elector[n][e].term = tx.term /\ elector[n][e].timeline = tx.timeline
  /\ Passes(tx) /\ ~IsReleased(tx)
  /\ tx' = [tx EXCEPT !.fresh = TRUE]
  /\ UNCHANGED <<node, elector, late, primary, standby, timeline, forks, granted, kept, crashes>>

EndTransaction ==
  /\ tx.phase # "none"
  /\ tx' = NoTx
  /\ UNCHANGED <<node, elector, late, primary, standby, timeline, forks, granted, kept, crashes>>

-----------------------------------------------------------------------------
Step(n) ==
  \/ EndSession(n) \/ LoseSession(n) \/ LoseConnection(n) \/ NodeCrashes(n)
  \/ Join(n) \/ Read(n) \/ BeginRound(n) \/ ReadFirst(n) \/ ExecuteRound(n) \/ EndRound(n)
  \/ StartEnd(n) \/ DeleteOwnRow(n)
  \/ Delete(n) \/ RaiseBeat(n) \/ TakeOver(n) \/ Release(n)
  \/ ExecuteLate(n)

StepOf(n, e) ==
  \/ LoseTerm(n, e)
  \/ StartDelete(n, e) \/ StartTakeover(n, e) \/ ReadStaleSnapshot(n, e)
  \/ StartWork(n, e) \/ EndWork(n, e)
  \/ BeginHandOver(n, e) \/ NotifyListeners(n, e)
  \/ FreeInOrder(n, e) \/ FreeOverdue(n, e) \/ FreeUngranted(n, e) \/ FreeUnled(n, e)
  \/ Begin(n, e)

Next ==
  \/ Tick
  \/ Replicate \/ ServerCrashes \/ Promote \/ DeleteByHand
  \/ \E n \in Nodes : Step(n) \/ \E e \in Elections : StepOf(n, e)
  \/ \E n, m \in Nodes : Clone(n, m) \/ \E i \in 1 .. MaxSessions : StartDeleteIdle(n, <<m, i>>)
  \/ PassFence \/ EndTransaction

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The guarantees *)

\* A transaction that has passed the fence may commit at any time, so it must have ended
\* before a later term is granted.  A term that a promotion has lost was never granted for
\* the database that lost it.
G1_Fence == tx.phase = "passed" => Order(tx.timeline, tx.term) >= kept[tx.e]

G2_OneBeliever == \A e \in Elections : \A m, n \in Nodes : IsLeader(m, e) /\ IsLeader(n, e) => m = n

\* A term that is won is greater than every term that was granted before
G3_Terms == [][\A n \in Nodes, e \in Elections :
  elector[n][e].pos = "following" /\ elector'[n][e].pos \in {"elected", "leading"} =>
    Order(elector'[n][e].timeline, elector'[n][e].term) > granted[e]]_vars

\* Terms are granted in their order, and each once
G3_Order == [][\A n \in Nodes, e \in Elections :
  ~IsLeader(n, e) /\ IsLeader(n, e)' =>
    Order(elector'[n][e].timeline, elector'[n][e].term) > granted[e]]_vars

\* A free row that is clean says that nothing of its term runs
G4_HandOver == \A e \in Elections :
  LET row == primary.of[e] IN
    row.owner = <<>> /\ row.clean => \A n \in Nodes :
      ~(elector[n][e].work = "running" /\ elector[n][e].term = row.term /\ elector[n][e].timeline = row.timeline)

\* A session that nobody expires has a row while it owns something
G4_OwnerHasRow == \A e \in Elections : primary.of[e].owner # <<>> => Row(primary.of[e].owner) > 0

\* Nobody else leads while work runs whose term was released, if it ends within the takeover delay
G4_TakeoverDelay == \A e \in Elections : \A m, n \in Nodes :
  IsLeader(m, e) /\ elector[n][e].work = "running" /\ elector[n][e].overdue > 0 => m = n

\* A term ends only if its trust lapses, with its session, or if the election has another owner,
\* unless there is a fault
G6_TermIsKept == [][\A n \in Nodes, e \in Elections :
  Holds(n, e) /\ ~IsLapsed(n, e) /\ elector'[n][e].pos = "following" /\ node'[n].token # <<>> =>
    ~(primary.of[e].owner = node[n].token /\ primary.of[e].term = elector[n][e].term)]_vars

-----------------------------------------------------------------------------
(* Equal for states whose difference nothing will read *)

\* With some mistakes, a version comes back or permits something although it is another one
VersionsMatter ==
  \/ "CLONE" \in Faults
  \/ Mutant \in
       {"BEAT_NOT_COMPARED", "RENEWAL_NOT_FLUSHED", "BEAT_INCREMENTED", "TIMELINE_NOT_COMPARED", "DELETE_AFTER_PROMOTION",
        "TAKEOVER_AFTER_PROMOTION", "TERM_NOT_COMPARED", "TAKEN_FROM_ROW", "MISSING_SINCE_LAST_SIGHT",
        "MISSING_ROW_IS_EXPIRED", "FREE_AFTER_PROMOTION", "OUTDATED_OWNER_DELETED", "OUTDATED_OWNER_EXPIRES",
        "MISSING_ROW_CONFIRMS", "GREATER_BEAT_CONFIRMS", "RELEASE_WITHOUT_TERM", "ROW_COUNT_IGNORED"}

\* What a node knows about a row that has changed only makes it fail.  A server that a promotion
\* takes back has another timeline.
IsPast(n, e) ==
  LET seen == elector[n][e].seen IN
    /\ seen # <<>> /\ ~VersionsMatter /\ node[n].stage \notin {"read", "renewed"}
    /\ OwnerOf(seen) # node[n].token
    /\ \/ SubSeq(seen, 1, 4) # SubSeq(Version(e), 1, 4)
       \/ seen[5] # Version(e)[5] /\ OwnerOf(seen) # node[n].dead
       \/ seen[7] # timeline

View ==
  <<node, [n \in Nodes |-> [e \in Elections |->
      IF IsPast(n, e) THEN [elector[n][e] EXCEPT !.seen = <<None>>, !.waited = 0] ELSE elector[n][e]]],
    [n \in Nodes |-> IF late[n] # NoMessage /\ ~VersionsMatter /\ ~IsLossy /\ ~IsLocked(late[n].token) /\
        late[n].kind \notin {"takeover", "end"} /\ After(late[n]) = primary /\ ~IsShared(late[n].e) THEN NoMessage ELSE late[n]],
    primary, standby, timeline, forks, granted, kept, tx, crashes>>

Symmetry == Permutations(Nodes)
=============================================================================
