------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* Somebody leads (G6).  The actions are those of Election.  Here a node   *)
(* that is not frozen, and the server, do what they can before time        *)
(* passes; only faults and the actions of the application are optional.    *)
(* A transaction, and work in a term that has ended or is being handed     *)
(* over, end before time passes.  The wait of a node that is not frozen    *)
(* never times out: the node would wait again at once.                     *)
(***************************************************************************)
EXTENDS Election

CONSTANT MaxFaults

VARIABLES
  frozen,  \* nodes that take no step
  faults,  \* how many faults there were
  calm     \* nodes that have not been frozen since they were granted leadership

liveVars == <<vars, frozen, faults, calm>>

Observe == calm' = {n \in Nodes \ frozen' : node'[n].pos = "leading" /\ (n \in calm \/ node[n].pos # "leading")}

\* No fault happens in this step
Quiet == UNCHANGED <<frozen, faults>> /\ Observe

\* No node freezes in this step
Unfrozen == UNCHANGED frozen /\ Observe

\* What the server does by itself.  A winner does not give the main key back: it does so when time
\* has passed, which is after the server has freed the key of the earlier term
ServerStep(n) ==
  \/ ServerEndsSilentSession(n) /\ Quiet
  \/ ServerEndsClosedSession(n) /\ Quiet
  \/ FreeMain(n) /\ Quiet
  \/ FreeTermKey(n) /\ Quiet
  \/ FreeMarker(n) /\ Quiet
  \/ Count(n) /\ Quiet
  \/ LookAtPredecessor(n) /\ Quiet
  \/ n \in frozen /\ WaitTimesOut(n) /\ Quiet
  \/ TakeMain(n) /\ Quiet
  \/ TakeTermKey(n) /\ Quiet
  \/ Elect(n) /\ Quiet
  \/ Confirm(n) /\ Quiet
  \/ SetMarker(n) /\ Quiet
  \/ UnlockTermKey(n) /\ Quiet
  \/ ReleaseMain(n) /\ Quiet
  \/ RemoveMarker(n) /\ Quiet

IsAwake(n) == n \notin frozen

\* A fifth of the lease has passed since the last confirmation
IsConfirmationDue(n) == session[n].idle >= 1

HasLost(n) == ~IsOpen(n) \/ (node[n].pos = "leading" /\ node[n].age >= Trust)

\* What a node does that is not frozen
ClientStep(n) ==
  \/ IsAwake(n) /\ HasLost(n) /\ Lose(n) /\ Quiet
  \/ IsAwake(n) /\ Open(n) /\ Quiet
  \/ IsAwake(n) /\ Wait(n) /\ Quiet
  \/ IsAwake(n) /\ (IsConfirmationDue(n) \/ (~node[n].clear /\ ~IsBlocked(n))) /\ AwaitEarlierTerms(n) /\ Quiet
  \/ IsAwake(n) /\ PassBarrier(n) /\ Quiet
  \/ IsAwake(n) /\ IsConfirmationDue(n) /\ BarrierTimesOut(n) /\ Quiet
  \/ IsAwake(n) /\ (IsConfirmationDue(n) \/ (node[n].pos = "elected" /\ ~IsBlocked(n))) /\ StartConfirmation(n) /\ Quiet
  \/ IsAwake(n) /\ Grant(n) /\ Quiet
  \/ IsAwake(n) /\ RepeatConfirmation(n) /\ Quiet
  \/ IsAwake(n) /\ Extend(n) /\ Quiet
  \/ IsAwake(n) /\ CountWork(n) /\ Quiet
  \/ IsAwake(n) /\ CheckWork(n) /\ Quiet
  \/ IsAwake(n) /\ node[n].pos # "leading" /\ EndWork(n) /\ Quiet
  \/ IsAwake(n) /\ IsConfirmationDue(n) /\ ConfirmWhileHandingOver(n) /\ Quiet
  \/ IsAwake(n) /\ NotifyListeners(n) /\ Quiet
  \/ IsAwake(n) /\ FreeInOrder(n) /\ Quiet
  \/ IsAwake(n) /\ Close(n) /\ Quiet

\* A transaction ends, since the client ends it or the server does after a lease
TransactionEnds == ~Is("NO_LIMIT_IN_FENCE") /\ EndTransaction /\ Quiet

Prompt == TransactionEnds \/ \E n \in Nodes : ServerStep(n) \/ ClientStep(n)

TimePasses == ~ENABLED Prompt /\ Tick /\ Quiet

Fault(n) == faults < MaxFaults /\ n \notin frozen /\ faults' = faults + 1

\* One node at least is not frozen
Freeze(n) ==
  /\ Fault(n) /\ Cardinality(frozen) < Cardinality(Nodes) - 1
  /\ frozen' = frozen \union {n} /\ UNCHANGED vars /\ Observe

Thaw(n) == n \in frozen /\ frozen' = frozen \ {n} /\ UNCHANGED <<vars, faults>> /\ Observe

\* What may happen or not
OptionalStep(n) ==
  \/ Fault(n) /\ Lose(n) /\ Unfrozen
  \/ Fault(n) /\ NodeCrashes(n) /\ Unfrozen
  \/ Fault(n) /\ ServerEndsLiveSession(n) /\ Unfrozen
  \/ Fault(n) /\ ServerCrashes /\ Unfrozen
  \/ Fault(n) /\ ResetCounters /\ Unfrozen
  \/ Freeze(n)
  \/ Thaw(n)
  \/ IsAwake(n) /\ LookForWork(n) /\ Quiet
  \/ IsAwake(n) /\ EndWork(n) /\ Quiet
  \/ IsAwake(n) /\ IsLeader(n) /\ Begin(n) /\ Quiet
  \/ IsAwake(n) /\ BeginHandOver(n) /\ Quiet
  \/ IsAwake(n) /\ NotifyOverdue(n) /\ Quiet
  \/ IsAwake(n) /\ FreeUngranted(n) /\ Quiet
  \/ IsAwake(n) /\ FreeOverdue(n) /\ Quiet
  \/ ShareFence /\ Quiet
  \/ LookAtTermKey /\ Quiet

LiveInit == Init /\ frozen = {} /\ faults = 0 /\ calm = {}

LiveSpec ==
  /\ LiveInit /\ [][Prompt \/ TimePasses \/ \E n \in Nodes : OptionalStep(n)]_liveVars
  /\ WF_liveVars(Prompt) /\ WF_liveVars(TimePasses)

\* All terms of the model have been used
IsOutOfTerms == xid = MaxTerm /\ \A n \in Nodes : session[n].key # xid

\* A leader that nothing disturbs is confirmed in time, however slow the confirmation before
\* its grant was: it was frozen between that confirmation and the grant
G6_CalmLeaderIsTrusted == \A n \in calm : node[n].age < Trust

\* Somebody leads again and again
G6_SomebodyLeads == []<>(IsOutOfTerms \/ \E n \in Nodes : IsLeader(n))
=============================================================================
