------------------------------ MODULE Election ------------------------------
(***************************************************************************)
(* Who leads the quorum: Vote with PreVote (KIP-996), BeginQuorumEpoch and *)
(* EndQuorumEpoch (KIP-595), a leader that steps down without raising its  *)
(* epoch. Time is left out: whatever a node waits for may end at any       *)
(* moment. Messages are a set and stay in it, so they are lost, late,      *)
(* repeated and reordered in every way. What followers fetch is in Log.    *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Node,
    None,
    Epochs,    \* no step beyond this one
    Timeouts,  \* how often a role's time ends, in all
    Crashes    \* in all

VARIABLES
    node,      \* a record for each node, see Start
    requests,
    answers,   \* only those that somebody waits for
    timeouts,
    crashes

vars == <<node, requests, answers, timeouts, crashes>>

(***************************************************************************)
(* A node. Epoch, vote and leader are what its file has, too: each step    *)
(* that changes them writes them first. The log is the epochs of its       *)
(* batches. A leader is not known to have committed anything until a batch *)
(* of its own epoch is; hw is how many batches are.                        *)
(***************************************************************************)
Start ==
    [epoch |-> 0,
     role |-> "unattached",
     voted |-> None,
     leader |-> None,
     heard |-> FALSE,    \* a follower: its leader has answered a fetch, and has not said farewell;
                         \* one that resigned: its voters' logs, so that it names successors
     granted |-> {},     \* prospective and candidate: who has, itself included
     refused |-> {},
     log |-> << >>,
     hw |-> 0]

Init ==
    /\ node = [n \in Node |-> Start]
    /\ requests = {}
    /\ answers = {}
    /\ timeouts = 0
    /\ crashes = 0

IsMajority(s) == 2 * Cardinality(s) > Cardinality(Node)

LastEpoch(log) == IF log = << >> THEN 0 ELSE log[Len(log)]

(***************************************************************************)
(* The roles. Whoever changes it forgets what it was told in the last one. *)
(***************************************************************************)
Turn(me, role) == [me EXCEPT !.role = role, !.heard = FALSE, !.granted = {}, !.refused = {}]

Unattached(me, e, v, l) == [Turn(me, "unattached") EXCEPT !.epoch = e, !.voted = v, !.leader = l]

Follower(me, e, v, l) == [Turn(me, "follower") EXCEPT !.epoch = e, !.voted = v, !.leader = l]

Prospective(n, me) == [Turn(me, "prospective") EXCEPT !.granted = {n}]

Candidate(n, me) ==
    [Turn(me, "candidate") EXCEPT
        !.epoch = @ + 1,
        !.voted = n,
        !.leader = None,
        !.granted = {n}]

(***************************************************************************)
(* The first batch of an epoch says who leads it.                          *)
(***************************************************************************)
Leader(n, me) ==
    [Turn(me, "leader") EXCEPT
        !.leader = n,
        !.log = Append(@, me.epoch),
        !.hw = 0]

Resigned(me, knows) == [Turn(me, "resigned") EXCEPT !.heard = knows, !.hw = 0]

(***************************************************************************)
(* A lost pre-vote changes nothing: a node goes on with the leader that it *)
(* had. It then has not fetched from it, so it grants the next one who     *)
(* asks, and two do not refuse each other for good.                        *)
(***************************************************************************)
FallBack(n, me) ==
    IF me.leader \in {None, n}
    THEN Unattached(me, me.epoch, me.voted, me.leader)
    ELSE Follower(me, me.epoch, me.voted, me.leader)

(***************************************************************************)
(* A message names an epoch and, perhaps, who leads it.                    *)
(***************************************************************************)
Learn(n, me, e, l) ==
    IF e > me.epoch
    THEN IF l \in {None, n} THEN Unattached(me, e, None, None) ELSE Follower(me, e, None, l)
    ELSE IF e = me.epoch /\ l \notin {None, n} /\ me.leader = None
         THEN Follower(me, e, me.voted, l)
         ELSE me

(***************************************************************************)
(* What follows from a tally.                                              *)
(***************************************************************************)
Lost(me) == ~IsMajority(Node \ me.refused)

Judge(n, me) ==
    IF me.role = "prospective" /\ IsMajority(me.granted)
    THEN Candidate(n, me)
    ELSE IF me.role = "prospective" /\ Lost(me)
         THEN FallBack(n, me)
         ELSE IF me.role = "candidate" /\ IsMajority(me.granted)
              THEN Leader(n, me)
              ELSE me

(***************************************************************************)
(* Messages. A request is open while its sender waits for the answer; with *)
(* the role, or the round, all that a node waited for is void.             *)
(***************************************************************************)
Request(kind, n, to, me) ==
    [kind |-> kind,
     from |-> n,
     to |-> to,
     epoch |-> me.epoch,
     last |-> LastEpoch(me.log),
     end |-> Len(me.log),
     names |-> me.heard, \* of "end": the successors
     open |-> TRUE]

Answer(m, me, ok) ==
    [kind |-> m.kind,
     from |-> m.to,
     to |-> m.from,
     epoch |-> me.epoch,
     leader |-> me.leader,
     ok |-> ok]

KindOf(role) ==
    CASE role = "prospective" -> "preVote"
      [] role = "candidate" -> "vote"
      [] role = "leader" -> "begin"
      [] role = "resigned" -> "end"
      [] OTHER -> "none"

Asks(n, me) ==
    IF KindOf(me.role) = "none"
    THEN {}
    ELSE {Request(KindOf(me.role), n, to, me) : to \in Node \ {n}}

NewRound(before, after) ==
    \/ before.epoch # after.epoch
    \/ before.role # after.role
    \/ before.leader # after.leader
    \/ before.role = "prospective" /\ before.voted # after.voted

(***************************************************************************)
(* An answer that changes nothing, whenever it comes, is not sent.         *)
(***************************************************************************)
Matters(m, a) ==
    \/ a.epoch > m.epoch
    \/ m.kind = "preVote"
    \/ m.kind = "vote" /\ (a.ok \/ a.leader # None)

(***************************************************************************)
(* A request that nobody waits for and that changes nothing any more is    *)
(* dropped.                                                                *)
(***************************************************************************)
Settled(m, to) ==
    /\ ~m.open
    /\ \/ m.epoch < to.epoch
       \/ m.epoch = to.epoch /\ m.kind = "preVote"
       \/ m.epoch = to.epoch /\ m.kind = "vote" /\ (to.voted # None \/ to.leader # None)
       \/ m.epoch = to.epoch /\ m.kind = "begin" /\ to.leader # None

Unsettled(all, n, me) == {m \in all : ~Settled(m, IF m.to = n THEN me ELSE node[m.to])}

Closed(all, n, to) ==
    {IF m.from = n /\ m.to \in to THEN [m EXCEPT !.open = FALSE] ELSE m : m \in all}

(***************************************************************************)
(* Node n becomes me, has got the answer of the nodes in heardFrom, and    *)
(* answers.                                                                *)
(***************************************************************************)
Step(n, me, heardFrom, said) ==
    /\ me.epoch <= Epochs
    /\ node' = [node EXCEPT ![n] = me]
    /\ \E new \in {NewRound(node[n], me)} :
        \E void \in {IF new THEN Node ELSE heardFrom} :
            /\ requests' = Unsettled(Closed(requests, n, void) \cup (IF new THEN Asks(n, me) ELSE {}), n, me)
            /\ answers' = {a \in answers : ~(a.to = n /\ a.from \in void)} \cup said

(***************************************************************************)
(* What a receiver does. A quantifier over a set of one gives a value its  *)
(* name, and has it computed once.                                         *)
(***************************************************************************)
UpToDate(m, me) ==
    \/ m.last > LastEpoch(me.log)
    \/ m.last = LastEpoch(me.log) /\ m.end >= Len(me.log)

GrantsPreVote(me, m) ==
    /\ me.role # "leader"
    /\ ~(me.role = "follower" /\ me.heard)
    /\ UpToDate(m, me)

GrantsVote(me, m) ==
    /\ me.role \in {"unattached", "prospective"}
    /\ \/ me.voted = m.from
       \/ me.voted = None /\ me.leader = None /\ UpToDate(m, me)

(***************************************************************************)
(* A node that votes while it asks for pre-votes asks anew.                *)
(***************************************************************************)
Voted(n, me, m) ==
    IF me.voted = m.from
    THEN me
    ELSE [me EXCEPT
            !.voted = m.from,
            !.granted = IF me.role = "prospective" THEN {n} ELSE {},
            !.refused = {}]

(***************************************************************************)
(* What a follower becomes whose leader steps down: it grants others, and  *)
(* asks itself, the first successor at once and the others some time later.*)
(***************************************************************************)
Farewell(me, m) ==
    IF me.role = "follower" /\ me.leader = m.from /\ me.epoch = m.epoch
    THEN {[me EXCEPT !.heard = FALSE]} \cup (IF m.names THEN {Prospective(m.to, me)} ELSE {})
    ELSE {me}

Say(m, me, ok) == IF m.open /\ Matters(m, Answer(m, me, ok)) THEN {Answer(m, me, ok)} ELSE {}

OnPreVote(m) ==
    /\ m.kind = "preVote"
    /\ \E me \in {Learn(m.to, node[m.to], m.epoch, None)} :
        \E ok \in {m.epoch = me.epoch /\ GrantsPreVote(me, m)} :
            Step(m.to, me, {}, Say(m, me, ok))

OnVote(m) ==
    /\ m.kind = "vote"
    /\ \E me \in {Learn(m.to, node[m.to], m.epoch, None)} :
        \E ok \in {m.epoch = me.epoch /\ GrantsVote(me, m)} :
            \E after \in {IF ok THEN Voted(m.to, me, m) ELSE me} :
                Step(m.to, after, {}, Say(m, after, ok))

OnBegin(m) ==
    /\ m.kind = "begin"
    /\ \E me \in {Learn(m.to, node[m.to], m.epoch, m.from)} :
        Step(m.to, me, {}, Say(m, me, FALSE))

OnEnd(m) ==
    /\ m.kind = "end"
    /\ \E me \in Farewell(Learn(m.to, node[m.to], m.epoch, m.from), m) :
        Step(m.to, me, {}, Say(m, me, FALSE))

Told(me, a) ==
    IF a.epoch # me.epoch \/ me.role \notin {"prospective", "candidate"}
    THEN me
    ELSE IF a.ok
         THEN [me EXCEPT !.granted = @ \cup {a.from}]
         ELSE [me EXCEPT !.refused = @ \cup {a.from}]

OnVoteAnswer(a) ==
    /\ a.kind \in {"preVote", "vote", "begin", "end"}
    /\ \E me \in {Learn(a.to, node[a.to], a.epoch, a.leader)} :
        \E told \in {IF me = node[a.to] THEN Told(me, a) ELSE me} :
            \E after \in {Judge(a.to, told)} :
                Step(a.to, after, {a.from}, {})

(***************************************************************************)
(* Time passes for a node.                                                 *)
(***************************************************************************)
TimedOut(n, me) ==
    CASE me.role = "leader" -> Resigned(me, TRUE)
      [] me.role = "prospective" -> FallBack(n, me)
      [] OTHER -> Judge(n, Judge(n, Prospective(n, me))) \* who is alone leads at once

Timeout(n) ==
    /\ timeouts < Timeouts
    /\ timeouts' = timeouts + 1
    /\ \E me \in {TimedOut(n, node[n])} : Step(n, me, {}, {})
    /\ UNCHANGED crashes

(***************************************************************************)
(* A node that starts has what its disk has. A leader never goes on with   *)
(* its epoch; a candidate does.                                            *)
(***************************************************************************)
Restarted(n, me) ==
    LET bare == [me EXCEPT !.hw = 0]
    IN  IF me.leader = n
        THEN Resigned(bare, FALSE)
        ELSE IF me.leader # None
             THEN Follower(bare, me.epoch, me.voted, me.leader)
             ELSE IF me.voted = n
                  THEN [Turn(bare, "candidate") EXCEPT !.granted = {n}]
                  ELSE Unattached(bare, me.epoch, me.voted, None)

Restart(n, me) ==
    /\ node' = [node EXCEPT ![n] = me]
    /\ requests' = Unsettled(Closed(requests, n, Node) \cup Asks(n, me), n, me)
    /\ answers' = {a \in answers : a.to # n}

Crash(n) ==
    /\ crashes < Crashes
    /\ crashes' = crashes + 1
    /\ \E me \in {Restarted(n, node[n])} : Restart(n, me)
    /\ UNCHANGED timeouts

Deliver ==
    /\ \/ \E m \in requests : OnPreVote(m)
       \/ \E m \in requests : OnVote(m)
       \/ \E m \in requests : OnBegin(m)
       \/ \E m \in requests : OnEnd(m)
       \/ \E a \in answers : OnVoteAnswer(a)
    /\ UNCHANGED <<timeouts, crashes>>

Next ==
    \/ \E n \in Node : Timeout(n)
    \/ \E n \in Node : Crash(n)
    \/ Deliver

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* No epoch has two leaders. Nobody stands in an epoch that it knows to be *)
(* led. A node has voted once: for whom leads, or for itself.              *)
(***************************************************************************)
OneLeader ==
    \A a, b \in Node :
        \/ node[a].epoch # node[b].epoch
        \/ node[a].leader = None
        \/ node[b].leader = None
        \/ node[a].leader = node[b].leader

RolesAgree ==
    \A n \in Node :
        /\ node[n].role = "candidate" => node[n].voted = n /\ node[n].leader = None
        /\ node[n].role \in {"leader", "resigned"} => node[n].leader = n
        /\ node[n].role = "follower" => node[n].leader \notin {None, n}

(***************************************************************************)
(* A grant was given by a node that still says so, or has moved on.        *)
(***************************************************************************)
VotesHold ==
    \A n \in Node :
        node[n].role = "candidate" =>
            \A g \in node[n].granted :
                \/ node[g].epoch > node[n].epoch
                \/ node[g].epoch = node[n].epoch /\ node[g].voted = n

(***************************************************************************)
(* No step takes an epoch back, or the vote of an epoch.                   *)
(***************************************************************************)
Forward ==
    [][\A n \in Node :
        /\ node'[n].epoch >= node[n].epoch
        /\ \/ node'[n].epoch > node[n].epoch
           \/ node[n].voted \in {None, node'[n].voted}]_vars

(***************************************************************************)
(* Only a candidate begins an epoch; all others learn of it by a message.  *)
(***************************************************************************)
Begun ==
    [][\A n \in Node :
        \/ node'[n].epoch = node[n].epoch
        \/ node'[n].role = "candidate"
        \/ \E m \in requests \cup answers : m.to = n /\ m.epoch = node'[n].epoch]_vars
=============================================================================
