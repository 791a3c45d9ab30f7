-------------------------------- MODULE Toy --------------------------------
(***************************************************************************)
(* The toy on which every checker of the quorum is calibrated: an election *)
(* of three nodes, messages that are a set and never leave it. Distinct    *)
(* states: Epochs=1 Restarts=0 has 623, Epochs=1 Restarts=1 has 2,131.     *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Epochs,   \* no epoch beyond
    Restarts  \* in all

VARIABLES
    epoch,
    state,
    voted,    \* 0 is none
    leader,   \* 0 is none
    votes,
    restarts,
    messages

vars == <<epoch, state, voted, leader, votes, restarts, messages>>

Node == 1..3

Message(kind, e, from, to) == [kind |-> kind, epoch |-> e, from |-> from, to |-> to]

ToBoth(kind, e, from) == {Message(kind, e, from, to) : to \in Node \ {from}}

Init ==
    /\ epoch = [n \in Node |-> 0]
    /\ state = [n \in Node |-> "unattached"]
    /\ voted = [n \in Node |-> 0]
    /\ leader = [n \in Node |-> 0]
    /\ votes = [n \in Node |-> {}]
    /\ restarts = 0
    /\ messages = {}

Timeout(n) ==
    /\ state[n] # "leader"
    /\ epoch[n] < Epochs
    /\ epoch' = [epoch EXCEPT ![n] = @ + 1]
    /\ state' = [state EXCEPT ![n] = "candidate"]
    /\ voted' = [voted EXCEPT ![n] = n]
    /\ leader' = [leader EXCEPT ![n] = 0]
    /\ votes' = [votes EXCEPT ![n] = {n}]
    /\ messages' = messages \cup ToBoth("request", epoch[n] + 1, n)
    /\ UNCHANGED restarts

Lead(n) ==
    /\ state[n] = "candidate"
    /\ Cardinality(votes[n]) >= 2
    /\ state' = [state EXCEPT ![n] = "leader"]
    /\ leader' = [leader EXCEPT ![n] = n]
    /\ messages' = messages \cup ToBoth("begin", epoch[n], n)
    /\ UNCHANGED <<epoch, voted, votes, restarts>>

Restart(n) ==
    /\ restarts < Restarts
    /\ restarts' = restarts + 1
    /\ votes' = [votes EXCEPT ![n] = {}]
    /\ state' = [state EXCEPT ![n] = IF @ \in {"leader", "candidate"} THEN "unattached" ELSE @]
    /\ leader' = [leader EXCEPT ![n] = IF @ = n THEN 0 ELSE @]
    /\ UNCHANGED <<epoch, voted, messages>>

(***************************************************************************)
(* What a node is once it has seen the epoch of a message: a higher one    *)
(* makes it forget.                                                        *)
(***************************************************************************)
Higher(m) == m.epoch > epoch[m.to]
Epoch(m) == IF Higher(m) THEN m.epoch ELSE epoch[m.to]
State(m) == IF Higher(m) THEN "unattached" ELSE state[m.to]
Voted(m) == IF Higher(m) THEN 0 ELSE voted[m.to]
Leader(m) == IF Higher(m) THEN 0 ELSE leader[m.to]
Votes(m) == IF Higher(m) THEN {} ELSE votes[m.to]

Grants(m) ==
    /\ m.epoch = Epoch(m)
    /\ State(m) = "unattached"
    /\ Leader(m) = 0
    /\ Voted(m) \in {0, m.from}

OnRequest(m) ==
    /\ m.kind = "request"
    /\ epoch' = [epoch EXCEPT ![m.to] = Epoch(m)]
    /\ state' = [state EXCEPT ![m.to] = State(m)]
    /\ leader' = [leader EXCEPT ![m.to] = Leader(m)]
    /\ votes' = [votes EXCEPT ![m.to] = Votes(m)]
    /\ voted' = [voted EXCEPT ![m.to] = IF Grants(m) THEN m.from ELSE Voted(m)]
    /\ messages' = messages \cup {Message(IF Grants(m) THEN "grant" ELSE "refuse", Epoch(m), m.to, m.from)}

OnGrant(m) ==
    /\ m.kind = "grant"
    /\ epoch' = [epoch EXCEPT ![m.to] = Epoch(m)]
    /\ state' = [state EXCEPT ![m.to] = State(m)]
    /\ voted' = [voted EXCEPT ![m.to] = Voted(m)]
    /\ leader' = [leader EXCEPT ![m.to] = Leader(m)]
    /\ votes' = [votes EXCEPT ![m.to] =
                    IF m.epoch = Epoch(m) /\ State(m) = "candidate" THEN Votes(m) \cup {m.from} ELSE Votes(m)]
    /\ UNCHANGED messages

OnRefuse(m) ==
    /\ m.kind = "refuse"
    /\ epoch' = [epoch EXCEPT ![m.to] = Epoch(m)]
    /\ state' = [state EXCEPT ![m.to] = State(m)]
    /\ voted' = [voted EXCEPT ![m.to] = Voted(m)]
    /\ leader' = [leader EXCEPT ![m.to] = Leader(m)]
    /\ votes' = [votes EXCEPT ![m.to] = Votes(m)]
    /\ UNCHANGED messages

Follows(m) ==
    /\ m.epoch = Epoch(m)
    /\ Leader(m) = 0
    /\ State(m) # "leader"

OnBegin(m) ==
    /\ m.kind = "begin"
    /\ epoch' = [epoch EXCEPT ![m.to] = Epoch(m)]
    /\ voted' = [voted EXCEPT ![m.to] = Voted(m)]
    /\ state' = [state EXCEPT ![m.to] = IF Follows(m) THEN "follower" ELSE State(m)]
    /\ leader' = [leader EXCEPT ![m.to] = IF Follows(m) THEN m.from ELSE Leader(m)]
    /\ votes' = [votes EXCEPT ![m.to] = IF Follows(m) THEN {} ELSE Votes(m)]
    /\ UNCHANGED messages

Receive(m) ==
    /\ \/ OnRequest(m)
       \/ OnGrant(m)
       \/ OnRefuse(m)
       \/ OnBegin(m)
    /\ UNCHANGED restarts

Next ==
    \/ \E n \in Node : Timeout(n)
    \/ \E n \in Node : Lead(n)
    \/ \E n \in Node : Restart(n)
    \/ \E m \in messages : Receive(m)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* No epoch has two leaders.                                               *)
(***************************************************************************)
OneLeader ==
    \A a, b \in Node :
        (epoch[a] = epoch[b] /\ leader[a] # 0 /\ leader[b] # 0) => leader[a] = leader[b]
=============================================================================
