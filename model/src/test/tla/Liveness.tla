------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* Somebody leads (G6).  The actions are those of Election.  Here a node   *)
(* that is not frozen, and the server, do what they can before time        *)
(* passes; only faults and the actions of the application are optional.    *)
(***************************************************************************)
EXTENDS Election

CONSTANT MaxFaults

VARIABLES
  frozen,  \* nodes that take no step
  faults   \* how many faults there were

liveVars == <<vars, frozen, faults>>

\* A fifth of the lease has passed since the last confirmation
IsConfirmationDue(n) == session[n].idle >= 1

\* What the server does by itself
ServerStep(n) ==
  \/ ServerEndsSilentSession(n) \/ ServerEndsClosedSession(n)
  \/ FreeMain(n) \/ FreeTermKey(n) \/ FreeMarker(n)
  \/ n \in frozen /\ WaitTimesOut(n)
  \/ TakeMain(n) \/ TakeTermKey(n) \/ Elect(n) \/ Confirm(n)
  \/ SetMarkerAndFreeTermKey(n) \/ ReleaseMain(n)

HasLost(n) == ~IsOpen(n) \/ (node[n].pos = "leading" /\ node[n].age >= Trust)

\* What a node does that is not frozen
ClientStep(n) ==
  /\ n \notin frozen
  /\ \/ HasLost(n) /\ Lose(n)
     \/ Open(n) \/ Wait(n)
     \/ (IsConfirmationDue(n) \/ (~node[n].clear /\ ~IsBlocked(n))) /\ AwaitEarlierTerms(n)
     \/ PassBarrier(n)
     \/ IsConfirmationDue(n) /\ BarrierTimesOut(n)
     \/ (IsConfirmationDue(n) \/ (node[n].pos = "elected" /\ ~IsBlocked(n))) /\ StartConfirmation(n)
     \/ Grant(n) \/ RepeatConfirmation(n) \/ Extend(n)
     \/ CheckWork(n) \/ node[n].pos # "leading" /\ EndWork(n)
     \/ IsConfirmationDue(n) /\ ConfirmWhileLeaving(n)
     \/ NotifyListeners(n) \/ FreeInOrder(n) \/ Close(n)

\* A transaction ends, since the client ends it or the server does after a lease
TransactionStep == EndTransaction /\ ~Is("NO_LIMIT_IN_FENCE")

PromptStep == (\E n \in Nodes : ServerStep(n) \/ ClientStep(n)) \/ TransactionStep

Prompt == PromptStep /\ UNCHANGED <<frozen, faults>>

Time == ~ENABLED PromptStep /\ Tick /\ UNCHANGED <<frozen, faults>>

Fault ==
  /\ faults < MaxFaults
  /\ faults' = faults + 1
  /\ \/ /\ \E n \in Nodes \ frozen : Lose(n) \/ NodeCrashes(n) \/ ServerEndsLiveSession(n)
        /\ UNCHANGED frozen
     \/ ServerCrashes /\ UNCHANGED frozen
     \/ /\ \E n \in Nodes \ frozen : frozen' = frozen \union {n}
        /\ UNCHANGED vars

Thaw == (\E n \in frozen : frozen' = frozen \ {n}) /\ UNCHANGED <<vars, faults>>

\* What an application may do or not do
Optional ==
  /\ \/ \E n \in Nodes \ frozen : CountWork(n) \/ EndWork(n) \/ Depart(n) \/ FreeUngranted(n) \/ FreeOverdue(n) \/ Begin(n)
     \/ ShareFence \/ LookAtTermKey
  /\ UNCHANGED <<frozen, faults>>

LiveInit == Init /\ frozen = {} /\ faults = 0

LiveSpec ==
  /\ LiveInit /\ [][Prompt \/ Time \/ Fault \/ Thaw \/ Optional]_liveVars
  /\ WF_liveVars(Prompt) /\ WF_liveVars(Time)

\* Unless the terms of the model are used up, somebody leads again and again
G6_SomebodyLeads == []<>(xid = MaxTerm \/ \E n \in Nodes : IsLeader(n))
=============================================================================
