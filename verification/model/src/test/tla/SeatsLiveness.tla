---------------------------- MODULE SeatsLiveness ----------------------------
(***************************************************************************)
(* The seats of the election with the advisory lock: how many nodes wait   *)
(* for the main key, and that a seat becomes free again.  In Election any  *)
(* session may wait at any time, so its guarantees hold whichever sessions *)
(* the seats admit.                                                        *)
(*                                                                         *)
(* Nodes and the server do what they can; only the end of a session is     *)
(* optional.  A session that ends frees its keys one by one, in any order. *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  Nodes,
  None,       \* no node
  Standbys,   \* the number of seats
  MaxFaults,  \* how many sessions end that do not lead
  Mutant      \* a seeded mistake, or "NONE"

(***************************************************************************)
(* A node:                                                                 *)
(*   "watching"  has no session                                            *)
(*   "opening"   has found a free seat, and opens a session                *)
(*   "waiting"   has a seat, and waits for the main key                    *)
(*   "won"       holds the main key, and has not freed its seat            *)
(*   "leading"   has freed its seat                                        *)
(*   "ending"    its session ends                                          *)
(***************************************************************************)
VARIABLES
  node,    \* where each node is
  seat,    \* the seat of the session of each node, or 0
  main,    \* the node whose session holds the main key
  faults   \* how many sessions have ended that did not lead

vars == <<node, seat, main, faults>>

Is(mutant) == Mutant = mutant

Init ==
  /\ node = [n \in Nodes |-> "watching"]
  /\ seat = [n \in Nodes |-> 0]
  /\ main = None
  /\ faults = 0

FreeSeats == {s \in 1..Standbys : \A n \in Nodes : seat[n] # s}

Admitted == IF Is("SEAT_SHARED") THEN 1..Standbys ELSE FreeSeats

\* One read, without a session
Watch(n) ==
  /\ node[n] = "watching" /\ FreeSeats # {}
  /\ node' = [node EXCEPT ![n] = "opening"]
  /\ UNCHANGED <<seat, main, faults>>

TakeSeat(n) ==
  /\ node[n] = "opening"
  /\ \E s \in Admitted : seat' = [seat EXCEPT ![n] = s]
  /\ node' = [node EXCEPT ![n] = "waiting"]
  /\ UNCHANGED <<main, faults>>

\* Another node was faster
FindNoSeat(n) ==
  /\ node[n] = "opening" /\ Admitted = {}
  /\ node' = [node EXCEPT ![n] = "watching"]
  /\ UNCHANGED <<seat, main, faults>>

TakeMain(n) ==
  /\ node[n] = "waiting" /\ main = None
  /\ main' = n
  /\ node' = [node EXCEPT ![n] = "won"]
  /\ UNCHANGED <<seat, faults>>

\* The last step of the statement that has taken the main key
FreeSeat(n) ==
  /\ node[n] = "won"
  /\ node' = [node EXCEPT ![n] = "leading"]
  /\ seat' = [seat EXCEPT ![n] = IF Is("SEAT_NOT_FREED") THEN @ ELSE 0]
  /\ UNCHANGED <<main, faults>>

\* A crash, a cut, a session that the server ends, or a candidacy that is withdrawn
SessionEnds(n) ==
  /\ node[n] \in {"opening", "waiting", "won"} /\ faults < MaxFaults
  /\ faults' = faults + 1
  /\ node' = [node EXCEPT ![n] = "ending"]
  /\ UNCHANGED <<seat, main>>

\* The same, or a hand-over
SessionOfLeaderEnds(n) ==
  /\ node[n] = "leading"
  /\ node' = [node EXCEPT ![n] = "ending"]
  /\ UNCHANGED <<seat, main, faults>>

FreeMainAtEnd(n) ==
  /\ node[n] = "ending" /\ main = n
  /\ main' = None
  /\ UNCHANGED <<node, seat, faults>>

FreeSeatAtEnd(n) ==
  /\ node[n] = "ending" /\ seat[n] # 0 /\ ~Is("SEAT_OUTLIVES_SESSION")
  /\ seat' = [seat EXCEPT ![n] = 0]
  /\ UNCHANGED <<node, main, faults>>

WatchAgain(n) ==
  /\ node[n] = "ending" /\ main # n /\ (seat[n] = 0 \/ Is("SEAT_OUTLIVES_SESSION"))
  /\ node' = [node EXCEPT ![n] = "watching"]
  /\ UNCHANGED <<seat, main, faults>>

Prompt(n) ==
  \/ Watch(n) \/ TakeSeat(n) \/ FindNoSeat(n) \/ TakeMain(n) \/ FreeSeat(n)
  \/ FreeMainAtEnd(n) \/ FreeSeatAtEnd(n) \/ WatchAgain(n)

LiveSpec ==
  /\ Init /\ [][\E n \in Nodes : Prompt(n) \/ SessionEnds(n) \/ SessionOfLeaderEnds(n)]_vars
  /\ \A n \in Nodes : WF_vars(Prompt(n))

Waiting == {n \in Nodes : node[n] = "waiting"}

\* No more nodes wait than there are seats
G7_Seats == Cardinality(Waiting) <= Standbys

\* Somebody leads again and again, and behind a leader that remains somebody waits
G6_Seats ==
  /\ []<>(\E n \in Nodes : node[n] = "leading")
  /\ []<>(main = None \/ Waiting # {})
=============================================================================
