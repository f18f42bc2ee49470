---------------------------- MODULE NodeLiveness ----------------------------
(***************************************************************************)
(* Somebody leads (G6).  The actions are those of NodeLease.  Here a node  *)
(* that is not frozen, and the server, do what they can before time        *)
(* passes; only faults and the actions of the application are optional.    *)
(***************************************************************************)
EXTENDS NodeLease

CONSTANTS
  MaxFaults,
  Leave       \* whether nodes hand over

VARIABLES
  frozen,  \* nodes that take no step
  faults,  \* how many faults there were
  due      \* nodes that have not begun a round since time has passed

liveVars == <<vars, frozen, faults, due>>

\* No fault happens in this step
Quiet == UNCHANGED <<frozen, faults, due>>

\* A node begins its round
Round(n) == due' = due \ {n} /\ UNCHANGED <<frozen, faults>>

\* What the server does by itself
ServerStep(n) ==
  \/ ExecuteRound(n) /\ Quiet
  \/ Delete(n) /\ Quiet
  \/ RaiseBeat(n) /\ Quiet
  \/ TakeOver(n) /\ Quiet
  \/ Release(n) /\ Quiet

IsAwake(n) == n \notin frozen

\* An elected node does not wait for its next round
IsDue(n) == n \in due \/ \E e \in Elections : elector[n][e].pos = "elected" /\ elector[n][e].delay = 0

\* drain-timeout, the interrupt and the grace may be over at once
IsOverdue(n, e) == elector[n][e].pos = "draining" /\ elector[n][e].work = "running"

\* What a node does that is not frozen
ClientStep(n) ==
  \/ IsAwake(n) /\ HasLapsed(n) /\ EndSession(n) /\ Quiet
  \/ IsAwake(n) /\ LoseSession(n) /\ Quiet
  \/ IsAwake(n) /\ Join(n) /\ Quiet
  \/ IsAwake(n) /\ n \in due /\ Read(n) /\ Round(n)
  \/ IsAwake(n) /\ IsDue(n) /\ BeginRound(n) /\ Round(n)
  \/ IsAwake(n) /\ EndRound(n) /\ Quiet

ClientStepOf(n, e) ==
  \/ IsAwake(n) /\ IsLapsed(n, e) /\ LoseTerm(n, e) /\ Quiet
  \/ IsAwake(n) /\ StartDelete(n, e) /\ Quiet
  \/ IsAwake(n) /\ StartTakeover(n, e) /\ Quiet
  \/ IsAwake(n) /\ FreeUnled(n, e) /\ Quiet
  \/ IsAwake(n) /\ ReadStaleSnapshot(n, e) /\ Quiet
  \/ IsAwake(n) /\ NotifyListeners(n, e) /\ Quiet
  \/ IsAwake(n) /\ FreeInOrder(n, e) /\ Quiet
  \/ IsAwake(n) /\ IsOverdue(n, e) /\ FreeOverdue(n, e) /\ Quiet

\* A transaction ends, since the client ends it or the server does, unless another one has passed
TransactionEnds == ~tx.fresh /\ EndTransaction /\ Quiet

Prompt ==
  TransactionEnds \/ \E n \in Nodes : ServerStep(n) \/ ClientStep(n) \/ \E e \in Elections : ClientStepOf(n, e)

\* The next rounds are due
AllAreDue == due' = Nodes /\ UNCHANGED <<frozen, faults>>

TimePasses == ~ENABLED Prompt /\ Tick /\ AllAreDue

Fault(n) == faults < MaxFaults /\ n \notin frozen /\ faults' = faults + 1

\* One node at least is not frozen
Freeze(n) ==
  /\ Fault(n) /\ Cardinality(frozen) < Cardinality(Nodes) - 1
  /\ frozen' = frozen \union {n} /\ UNCHANGED <<vars, due>>

Thaw(n) == n \in frozen /\ frozen' = frozen \ {n} /\ UNCHANGED <<vars, faults, due>>

\* What may happen or not.  Work goes on although its node is frozen or its
\* term is over, one transaction after the other.
OptionalStep(n) ==
  \/ Fault(n) /\ EndSession(n) /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ LoseConnection(n) /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ NodeCrashes(n) /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ ServerCrashes /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ Promote /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ DeleteByHand /\ UNCHANGED <<frozen, due>>
  \/ Replicate /\ Quiet
  \/ ExecuteLate(n) /\ Quiet
  \/ Freeze(n)
  \/ Thaw(n)
  \/ PassFence /\ Quiet

OptionalStepOf(n, e) ==
  \/ Fault(n) /\ LoseTerm(n, e) /\ UNCHANGED <<frozen, due>>
  \/ IsAwake(n) /\ StartWork(n, e) /\ Quiet
  \/ IsAwake(n) /\ EndWork(n, e) /\ Quiet
  \/ IsAwake(n) /\ IsLeader(n, e) /\ Begin(n, e) /\ Quiet
  \/ Overlap(n, e) /\ Quiet
  \/ Leave /\ IsAwake(n) /\ BeginHandOver(n, e) /\ Quiet
  \/ Leave /\ IsAwake(n) /\ FreeUngranted(n, e) /\ Quiet

Optional == \E n \in Nodes : OptionalStep(n) \/ \E e \in Elections : OptionalStepOf(n, e)

LiveInit == Init /\ frozen = {} /\ faults = 0 /\ due = Nodes

LiveSpec ==
  /\ LiveInit /\ [][Prompt \/ TimePasses \/ Optional]_liveVars
  /\ WF_liveVars(Prompt) /\ WF_liveVars(TimePasses)

\* All terms of the election, or all sessions of the nodes, have been used
IsOver(e) ==
  \/ primary.of[e].xid = MaxTerm /\ \A n \in Nodes :
       node[n].stage # "raised" /\ ~(IsAwake(n) /\ Holds(n, e) /\ primary.of[e].owner = node[n].token)
  \/ \A n \in Nodes : IsAwake(n) => node[n].drawn = MaxSessions /\ node[n].token = <<>>

\* Somebody leads again and again
G6_SomebodyLeads == \A e \in Elections : []<>(IsOver(e) \/ \E n \in Nodes : IsLeader(n, e))

\* A session owns an election in a term that no election holds
IsUnled(e) == \E n \in Nodes :
  /\ node[n].token # <<>> /\ primary.of[e].owner = node[n].token
  /\ ~(Holds(n, e) /\ elector[n][e].term = primary.of[e].term)

\* Such an election is freed, or led
G6_NothingUnled == \A e \in Elections : IsUnled(e) ~> (IsOver(e) \/ ~IsUnled(e))
=============================================================================
