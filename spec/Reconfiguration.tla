-------------------------- MODULE Reconfiguration --------------------------
(***************************************************************************)
(* Voters that come and go (KIP-853), in messages: one at a time, in       *)
(* batches of the log, in effect as soon as they are appended and undone   *)
(* when they are cut off. All else is as in Log: what a set means for      *)
(* elections and for what is committed is said there by VotersOf. Voters   *)
(* has the same with elections and fetches in one step each.               *)
(***************************************************************************)
EXTENDS Log

CONSTANTS
    Changes, \* of the voters, in all
    About    \* the nodes that they add and remove

VARIABLE changes

allVars == <<node, requests, answers, timeouts, crashes, files, committed, proposals, changes>>

(***************************************************************************)
(* A leader changes the voters when a batch of its own epoch is committed, *)
(* and so is the last change.                                              *)
(***************************************************************************)
MayChange(n) ==
    /\ node[n].role = "leader"
    /\ Announces(node[n]) > 0
    /\ SetAt(node[n].log) <= node[n].hw

Change(n, voters) ==
    /\ changes < Changes
    /\ changes' = changes + 1
    /\ \E me \in {[node[n] EXCEPT !.log = Append(@, Batch(node[n].epoch, voters))]} :
        Carry(n, me, files[n], {}, {})
    /\ UNCHANGED <<timeouts, crashes, proposals>>

(***************************************************************************)
(* Who is to be added once had all that there was, and has the set in      *)
(* effect.                                                                 *)
(***************************************************************************)
Add(n, v) ==
    /\ MayChange(n)
    /\ v \in About \ VotersOf(node[n].log)
    /\ v \in files[n].full
    /\ files[n].reached[v] >= SetAt(node[n].log)
    /\ Change(n, VotersOf(node[n].log) \cup {v})

(***************************************************************************)
(* A leader may remove itself; the last voter stays.                       *)
(***************************************************************************)
Remove(n, v) ==
    /\ MayChange(n)
    /\ v \in About \cap VotersOf(node[n].log)
    /\ VotersOf(node[n].log) # {v}
    /\ Change(n, VotersOf(node[n].log) \ {v})

ChangingNext ==
    \/ \E n, v \in Node : Add(n, v)
    \/ \E n, v \in Node : Remove(n, v)
    \/ LogNext /\ UNCHANGED changes

ChangingSpec ==
    /\ \E n \in {CHOOSE x \in First : TRUE} : Led(n)
    /\ changes = 0
    /\ [][ChangingNext]_allVars

(***************************************************************************)
(* Two sets that follow each other differ in one voter.                    *)
(***************************************************************************)
OneChange ==
    \A n \in Node : \A k \in 1..Len(node[n].log) :
        LET before == VotersOf(SubSeq(node[n].log, 1, k - 1))
            after == node[n].log[k].voters
        IN  Cardinality((before \ after) \cup (after \ before)) <= 1

(***************************************************************************)
(* Who knows its removal as committed neither leads nor stands.            *)
(***************************************************************************)
OnlyVotersStand ==
    \A n \in Node :
        node[n].role \in {"prospective", "candidate", "leader"} => Electable(n, node[n])
=============================================================================
