---------------------------- MODULE TableLiveness ----------------------------
(***************************************************************************)
(* Somebody leads (G6).  The actions are those of TableLease.  Here a node *)
(* that is not frozen, and the server, do what they can before time        *)
(* passes; only faults and the actions of the application are optional.    *)
(***************************************************************************)
EXTENDS TableLease

CONSTANT MaxFaults

VARIABLES
  frozen,  \* nodes that take no step
  faults,  \* how many faults there were
  due      \* nodes that have not begun a round since time has passed

liveVars == <<vars, frozen, faults, due>>

\* No fault happens in this step
Quiet == UNCHANGED <<frozen, faults, due>>

\* A node begins its round
Round(n) == n \in due /\ due' = due \ {n} /\ UNCHANGED <<frozen, faults>>

\* What the server does by itself
ServerStep(n) ==
  \/ TakeOver(n) /\ Quiet
  \/ Renew(n) /\ Quiet
  \/ Release(n) /\ Quiet

IsAwake(n) == n \notin frozen

HasExpired(n) == node[n].pos = "leading" /\ node[n].age >= Trust

\* What a node does that is not frozen
ClientStep(n) ==
  \/ IsAwake(n) /\ HasExpired(n) /\ Lose(n) /\ Quiet
  \/ IsAwake(n) /\ LoseTerm(n) /\ Quiet
  \/ IsAwake(n) /\ Read(n) /\ Round(n)
  \/ IsAwake(n) /\ Observe(n) /\ Quiet
  \/ IsAwake(n) /\ StartTakeover(n) /\ Quiet
  \/ IsAwake(n) /\ PassBarrier(n) /\ Quiet
  \/ IsAwake(n) /\ node[n].clear /\ ~node[n].asked /\ StartRenewal(n) /\ Quiet
  \/ IsAwake(n) /\ ~node[n].clear /\ StartRenewal(n) /\ Round(n)
  \/ IsAwake(n) /\ Grant(n) /\ Quiet
  \/ IsAwake(n) /\ RepeatConfirmation(n) /\ Quiet
  \/ IsAwake(n) /\ Extend(n) /\ Quiet
  \/ IsAwake(n) /\ CheckWork(n) /\ Quiet
  \/ IsAwake(n) /\ node[n].pos # "leading" /\ EndWork(n) /\ Quiet
  \/ IsAwake(n) /\ node[n].asked /\ BeginHandOver(n) /\ Quiet
  \/ IsAwake(n) /\ node[n].asked /\ FreeUngranted(n) /\ Quiet
  \/ IsAwake(n) /\ RenewWhileHandingOver(n) /\ Round(n)
  \/ IsAwake(n) /\ NotifyListeners(n) /\ Quiet
  \/ IsAwake(n) /\ FreeInOrder(n) /\ Quiet

\* A transaction ends, since the client ends it or the server does after a lease
TransactionEnds == ~Is("NO_LIMIT_IN_FENCE") /\ EndTransaction /\ Quiet

Prompt == TransactionEnds \/ \E n \in Nodes : ServerStep(n) \/ ClientStep(n)

\* The next rounds are due
AllAreDue == due' = Nodes /\ UNCHANGED <<frozen, faults>>

TimePasses == ~ENABLED Prompt /\ Tick /\ AllAreDue

Fault(n) == faults < MaxFaults /\ n \notin frozen /\ faults' = faults + 1

\* One node at least is not frozen
Freeze(n) ==
  /\ Fault(n) /\ Cardinality(frozen) < Cardinality(Nodes) - 1
  /\ frozen' = frozen \union {n} /\ UNCHANGED <<vars, due>>

Thaw(n) == n \in frozen /\ frozen' = frozen \ {n} /\ UNCHANGED <<vars, faults, due>>

\* What may happen or not
OptionalStep(n) ==
  \/ Fault(n) /\ Lose(n) /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ NodeCrashes(n) /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ ServerCrashes /\ UNCHANGED <<frozen, due>>
  \/ Fault(n) /\ Promote /\ UNCHANGED <<frozen, due>>
  \/ Replicate /\ Quiet
  \/ Freeze(n)
  \/ Thaw(n)
  \/ IsAwake(n) /\ CountWork(n) /\ Quiet
  \/ IsAwake(n) /\ EndWork(n) /\ Quiet
  \/ IsAwake(n) /\ IsLeader(n) /\ Begin(n) /\ Quiet
  \/ IsAwake(n) /\ BeginHandOver(n) /\ Quiet
  \/ IsAwake(n) /\ FreeUngranted(n) /\ Quiet
  \/ IsAwake(n) /\ FreeOverdue(n) /\ Quiet
  \/ IsAwake(n) /\ RequestResignation /\ Quiet
  \/ PassFence /\ Quiet

LiveInit == Init /\ frozen = {} /\ faults = 0 /\ due = Nodes

LiveSpec ==
  /\ LiveInit /\ [][Prompt \/ TimePasses \/ \E n \in Nodes : OptionalStep(n)]_liveVars
  /\ WF_liveVars(Prompt) /\ WF_liveVars(TimePasses)

\* All terms of the model have been used
IsOutOfTerms ==
  primary.xid = MaxTerm /\ \A n \in Nodes : ~(IsAwake(n) /\ node[n].pos # "following" /\ Owns(n))

\* Somebody leads again and again
G6_SomebodyLeads == []<>(IsOutOfTerms \/ \E n \in Nodes : IsLeader(n))

\* A request ends the term that it names
G6_RequestIsObeyed ==
  \A term \in 1 .. MaxTerm : primary.resign = term ~> (primary.resign # term \/ IsOutOfTerms)
=============================================================================
