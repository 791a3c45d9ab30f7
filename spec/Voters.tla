------------------------------- MODULE Voters -------------------------------
(***************************************************************************)
(* Voters that come and go (KIP-853): one at a time, in records of the     *)
(* log, effective as soon as they are appended, and undone when they are   *)
(* cut off. An election and a fetch are one step each; how they go in      *)
(* messages is in Election.                                                *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Node,
    First,    \* the voters at the start
    Epochs,   \* no step beyond this one
    Changes,  \* of the voters, in all
    Votes     \* elections, in all

VARIABLES
    epoch,
    leads,      \* the epoch that a node leads, 0 when it leads none
    log,        \* records of an epoch and the voters from there on
    hw,         \* of who leads: how many records it knows to be committed
    committed,  \* all that ever was
    changes,
    votes

vars == <<epoch, leads, log, hw, committed, changes, votes>>

Init ==
    /\ epoch = [n \in Node |-> 0]
    /\ leads = [n \in Node |-> 0]
    /\ log = [n \in Node |-> << >>]
    /\ hw = [n \in Node |-> 0]
    /\ committed = << >>
    /\ changes = 0
    /\ votes = 0

VotersOf(l) == IF l = << >> THEN First ELSE l[Len(l)].voters

LastEpoch(l) == IF l = << >> THEN 0 ELSE l[Len(l)].epoch

IsMajority(s, voters) == 2 * Cardinality(s \cap voters) > Cardinality(voters)

UpToDate(a, b) ==
    \/ LastEpoch(a) > LastEpoch(b)
    \/ LastEpoch(a) = LastEpoch(b) /\ Len(a) >= Len(b)

IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a

(***************************************************************************)
(* Whoever is no voter by its own log does not stand; whoever is asked may *)
(* vote, member or not.                                                    *)
(***************************************************************************)
Elect(n, e, granting) ==
    /\ votes < Votes
    /\ n \in VotersOf(log[n])
    /\ n \in granting
    /\ IsMajority(granting, VotersOf(log[n]))
    /\ \A g \in granting : epoch[g] < e /\ UpToDate(log[n], log[g])
    /\ epoch' = [g \in Node |-> IF g \in granting THEN e ELSE epoch[g]]
    /\ leads' = [g \in Node |-> IF g = n THEN e ELSE IF g \in granting THEN 0 ELSE leads[g]]
    /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> e, voters |-> VotersOf(@)])]
    /\ hw' = [hw EXCEPT ![n] = 0]
    /\ votes' = votes + 1
    /\ UNCHANGED <<committed, changes>>

(***************************************************************************)
(* A change needs a leader that has committed a record of its own epoch,   *)
(* and has no change under way.                                            *)
(***************************************************************************)
MayChange(n) ==
    /\ leads[n] # 0
    /\ hw[n] > 0
    /\ \A k \in 1..Len(log[n]) : k > hw[n] => log[n][k].voters = VotersOf(SubSeq(log[n], 1, hw[n]))

Change(n, voters) ==
    /\ changes < Changes
    /\ MayChange(n)
    /\ voters # {}
    /\ log' = [log EXCEPT ![n] = Append(@, [epoch |-> leads[n], voters |-> voters])]
    /\ changes' = changes + 1
    /\ UNCHANGED <<epoch, leads, hw, committed, votes>>

Add(n, v) ==
    /\ v \notin VotersOf(log[n])
    /\ Change(n, VotersOf(log[n]) \cup {v})

Remove(n, v) ==
    /\ v \in VotersOf(log[n])
    /\ Change(n, VotersOf(log[n]) \ {v})

(***************************************************************************)
(* A node gets the next record from who leads, or gives up its own last    *)
(* one, which that leader does not have.                                   *)
(***************************************************************************)
Fetch(n, l) ==
    /\ n # l
    /\ leads[l] # 0
    /\ epoch[n] <= leads[l]
    /\ epoch' = [epoch EXCEPT ![n] = leads[l]]
    /\ leads' = [leads EXCEPT ![n] = 0]
    /\ log' = [log EXCEPT ![n] =
                  IF IsPrefix(@, log[l])
                  THEN IF Len(@) < Len(log[l]) THEN Append(@, log[l][Len(@) + 1]) ELSE @
                  ELSE SubSeq(@, 1, Len(@) - 1)]
    /\ UNCHANGED <<hw, committed, changes, votes>>

(***************************************************************************)
(* What a majority of the newest voters has is committed once a record of  *)
(* the leader's own epoch is. A leader that is no voter does not count     *)
(* itself, and is done when that is committed.                             *)
(***************************************************************************)
Holding(l, k) ==
    {n \in Node : epoch[n] = leads[l] /\ Len(log[n]) >= k /\ SubSeq(log[n], 1, k) = SubSeq(log[l], 1, k)}

Commit(l) ==
    /\ leads[l] # 0
    /\ hw[l] < Len(log[l])
    /\ \E k \in (hw[l] + 1)..Len(log[l]) :
        /\ log[l][k].epoch = leads[l]
        /\ IsMajority(Holding(l, k), VotersOf(log[l]))
        /\ hw' = [hw EXCEPT ![l] = k]
        /\ leads' = [leads EXCEPT ![l] = IF k = Len(log[l]) /\ l \notin VotersOf(log[l]) THEN 0 ELSE @]
        /\ committed' = IF k > Len(committed) THEN SubSeq(log[l], 1, k) ELSE committed
    /\ UNCHANGED <<epoch, log, changes, votes>>

Next ==
    \/ \E n \in Node, e \in 1..Epochs, granting \in SUBSET Node : Elect(n, e, granting)
    \/ \E n, v \in Node : Add(n, v)
    \/ \E n, v \in Node : Remove(n, v)
    \/ \E n, l \in Node : Fetch(n, l)
    \/ \E l \in Node : Commit(l)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* No epoch has two leaders; the newest leader has all that is committed;  *)
(* two sets of voters that follow each other differ in one.                *)
(***************************************************************************)
OneLeader == \A a, b \in Node : (leads[a] # 0 /\ leads[a] = leads[b]) => a = b

Complete ==
    \A n \in Node :
        (leads[n] # 0 /\ \A m \in Node : leads[m] <= leads[n]) => IsPrefix(committed, log[n])

(***************************************************************************)
(* The same one election ahead: whoever lacks what is committed cannot win.*)
(***************************************************************************)
Safe ==
    \A n \in Node :
        (/\ n \in VotersOf(log[n])
         /\ IsMajority({g \in Node : UpToDate(log[n], log[g])}, VotersOf(log[n])))
        => IsPrefix(committed, log[n])

OneChange ==
    \A n \in Node : \A k \in 1..Len(log[n]) :
        LET before == VotersOf(SubSeq(log[n], 1, k - 1))
        IN  Cardinality((before \ log[n][k].voters) \cup (log[n][k].voters \ before)) <= 1

(***************************************************************************)
(* What is committed stays.                                                *)
(***************************************************************************)
Kept == [][IsPrefix(committed, committed')]_vars
=============================================================================
