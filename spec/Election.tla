------------------------------ MODULE Election ------------------------------
(***************************************************************************)
(* Who leads the quorum: Vote with PreVote (KIP-996), BeginQuorumEpoch and *)
(* EndQuorumEpoch (KIP-595), a leader that steps down without raising its  *)
(* epoch. Time is left out: whatever a node waits for may end at any       *)
(* moment. Messages are a set and stay in it, so they are lost, late,      *)
(* repeated and reordered in every way. What followers fetch is in Log,    *)
(* and how the voters change in Reconfiguration; both stand on this.       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Node,
    None,
    First,     \* the voters at the start; all other nodes are observers
    Old,       \* nodes that do not know pre-votes
    Waits,     \* a successor that is named may wait for its turn; else all stand at once
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
(* that changes them writes them first. Of a batch the log has the epoch,  *)
(* and the voters from there on; hw is how many batches the node knows to  *)
(* be committed.                                                           *)
(***************************************************************************)
Start ==
    [epoch |-> 0,
     role |-> "unattached",
     voted |-> None,
     leader |-> None,
     heard |-> FALSE,    \* a follower: its leader has answered a fetch, and has not said farewell;
                         \* one that resigned: its voters' logs, so that it names successors
     granted |-> {},     \* prospective and candidate: who has, itself included;
                         \* one that resigned: who knows that
     refused |-> {},
     log |-> << >>,
     hw |-> 0]

Init ==
    /\ node = [n \in Node |-> Start]
    /\ requests = {}
    /\ answers = {}
    /\ timeouts = 0
    /\ crashes = 0

Batch(e, voters) == [epoch |-> e, voters |-> voters]

LastEpoch(log) == IF log = << >> THEN 0 ELSE log[Len(log)].epoch

(***************************************************************************)
(* The last set in a log is the one in effect, committed or not.           *)
(***************************************************************************)
VotersOf(log) == IF log = << >> THEN First ELSE log[Len(log)].voters

IsMajority(s, voters) == 2 * Cardinality(s \cap voters) > Cardinality(voters)

(***************************************************************************)
(* Where the set in effect stands, 0 for the first one.                    *)
(***************************************************************************)
SetAt(log) ==
    LET kept == {k \in 0..Len(log) : VotersOf(SubSeq(log, 1, k)) # VotersOf(log)}
    IN  IF kept = {} THEN 0 ELSE 1 + CHOOSE k \in kept : \A j \in kept : j <= k

(***************************************************************************)
(* Voters stand for election, and who was removed by a set that it does    *)
(* not know to be committed: see docs/design/voters.md.                    *)
(***************************************************************************)
Electable(n, me) ==
    \/ n \in VotersOf(me.log)
    \/ \E at \in {SetAt(me.log)} : at > me.hw /\ n \in VotersOf(SubSeq(me.log, 1, at - 1))

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
        !.log = Append(@, Batch(me.epoch, VotersOf(@)))]

Resigned(me, knows) == [Turn(me, "resigned") EXCEPT !.heard = knows]

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
(* What follows from a tally. Who was removed and has resigned is done when*)
(* a majority knows, so that another one will lead.                        *)
(***************************************************************************)
Won(me) == IsMajority(me.granted, VotersOf(me.log))

Lost(me) == ~IsMajority(Node \ me.refused, VotersOf(me.log))

Judge(n, me) ==
    IF me.role = "prospective" /\ Won(me)
    THEN Candidate(n, me)
    ELSE IF me.role = "prospective" /\ Lost(me)
         THEN FallBack(n, me)
         ELSE IF me.role = "candidate" /\ Won(me)
              THEN Leader(n, me)
              ELSE IF me.role = "resigned" /\ Won(me) /\ ~Electable(n, me)
                   THEN Unattached(me, me.epoch, me.voted, n)
                   ELSE me

(***************************************************************************)
(* Who is alone leads at once.                                             *)
(***************************************************************************)
Stand(n, me) == Judge(n, Judge(n, Prospective(n, me)))

(***************************************************************************)
(* Messages. A request is open while its sender waits for the answer; with *)
(* the role, or the round, all that a node waited for is void.             *)
(***************************************************************************)
Request(kind, n, to, told) ==
    [kind |-> kind,
     from |-> n,
     to |-> to,
     epoch |-> told.epoch,
     last |-> LastEpoch(told.log),
     end |-> Len(told.log),
     names |-> told.heard, \* of "end": the successors
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

(***************************************************************************)
(* Node n asks. What it tells of itself is told: of its log, no more than  *)
(* its disk has. A peer that does not know pre-votes says so at once, and  *)
(* whoever does not know them gets the same answer from all.               *)
(***************************************************************************)
Peers(n, told) == VotersOf(told.log) \ {n}

Knows(n, to) == n \notin Old /\ to \notin Old

Asks(n, told) ==
    IF KindOf(told.role) = "none"
    THEN {}
    ELSE {Request(KindOf(told.role), n, to, told) :
            to \in {p \in Peers(n, told) : told.role = "prospective" => Knows(n, p)}}

Unsupported(n, told) ==
    IF told.role # "prospective"
    THEN {}
    ELSE {[kind |-> "unsupported",
           from |-> p,
           to |-> n,
           epoch |-> told.epoch,
           leader |-> None,
           ok |-> FALSE] : p \in {q \in Peers(n, told) : ~Knows(n, q)}}

NewRound(before, after) ==
    \/ before.epoch # after.epoch
    \/ before.role # after.role
    \/ before.leader # after.leader
    \/ before.role = "prospective" /\ before.voted # after.voted

(***************************************************************************)
(* An answer that changes nothing, whenever it comes, is not sent. Whether *)
(* it knows matters to who resigned only when that one was removed.        *)
(***************************************************************************)
Matters(m, a) ==
    \/ a.epoch > m.epoch
    \/ m.kind = "end" /\ ~Electable(m.from, node[m.from])
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
(* What is on the way when node n has become me and has got the answers of *)
(* the nodes in heardFrom.                                                 *)
(***************************************************************************)
Void(n, me, heardFrom) == IF NewRound(node[n], me) THEN Node ELSE heardFrom

RequestsAfter(n, me, told, void) ==
    Unsettled(Closed(requests, n, void) \cup (IF NewRound(node[n], me) THEN Asks(n, told) ELSE {}), n, me)

AnswersAfter(n, me, told, void) ==
    {a \in answers : ~(a.to = n /\ a.from \in void)} \cup (IF NewRound(node[n], me) THEN Unsupported(n, told) ELSE {})

Step(n, me, heardFrom, said) ==
    /\ me.epoch <= Epochs
    /\ node' = [node EXCEPT ![n] = me]
    /\ \E void \in {Void(n, me, heardFrom)} :
        /\ requests' = RequestsAfter(n, me, me, void)
        /\ answers' = AnswersAfter(n, me, me, void) \cup said

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
    THEN IF Electable(m.to, me)
         THEN (IF Waits \/ ~m.names THEN {[me EXCEPT !.heard = FALSE]} ELSE {})
                \cup (IF m.names THEN {Stand(m.to, me)} ELSE {})
         ELSE {Unattached(me, me.epoch, me.voted, me.leader)}
    ELSE {me}

Say(m, me, ok) == IF m.open /\ Matters(m, Answer(m, me, ok)) THEN {Answer(m, me, ok)} ELSE {}

(***************************************************************************)
(* What can become of a node that is me, having learnt what the request    *)
(* names: the node then, and whether it grants.                            *)
(***************************************************************************)
Outcome(me, ok) == [me |-> me, ok |-> ok]

Outcomes(m, me) ==
    CASE m.kind = "preVote" -> {Outcome(me, m.epoch = me.epoch /\ GrantsPreVote(me, m))}
      [] m.kind = "vote" ->
            IF m.epoch = me.epoch /\ GrantsVote(me, m)
            THEN {Outcome(Voted(m.to, me, m), TRUE)}
            ELSE {Outcome(me, FALSE)}
      [] m.kind = "begin" -> {Outcome(me, FALSE)}
      [] OTHER -> {Outcome(x, FALSE) : x \in Farewell(me, m)}

LeaderIn(m) == IF m.kind \in {"begin", "end"} THEN m.from ELSE None

(***************************************************************************)
(* It answers as who it was when it had read the request.                  *)
(***************************************************************************)
Received(m) ==
    \E me \in {Learn(m.to, node[m.to], m.epoch, LeaderIn(m))} :
        \E o \in Outcomes(m, me) :
            Step(m.to, o.me, {}, Say(m, me, o.ok))

Told(me, a) ==
    IF a.epoch # me.epoch \/ me.role \notin {"prospective", "candidate", "resigned"}
    THEN me
    ELSE IF a.ok \/ a.kind = "end"
         THEN [me EXCEPT !.granted = @ \cup {a.from}]
         ELSE [me EXCEPT !.refused = @ \cup {a.from}]

(***************************************************************************)
(* What an answer makes of a node. One peer that does not know pre-votes   *)
(* is enough to stand without them, as before KIP-996.                     *)
(***************************************************************************)
Answered(a, me) ==
    IF a.kind = "unsupported"
    THEN Candidate(a.to, me)
    ELSE IF me = node[a.to] THEN Told(me, a) ELSE me

(***************************************************************************)
(* Nobody needs the vote of who cannot be elected: an answer does not take *)
(* it into an epoch without a leader, to which the quorum may never come.  *)
(***************************************************************************)
StaysBehind(n, me, a) == a.epoch > me.epoch /\ a.leader = None /\ ~Electable(n, me)

Behind(me, a) ==
    IF me.role = "follower" /\ me.leader = a.from
    THEN Unattached(me, me.epoch, me.voted, me.leader)
    ELSE me

Heeded(n, me, a) == IF StaysBehind(n, me, a) THEN Behind(me, a) ELSE Learn(n, me, a.epoch, a.leader)

OnAnswer(a) ==
    \E me \in {Heeded(a.to, node[a.to], a)} :
        \E told \in {Answered(a, me)} :
            \E after \in {Judge(a.to, told)} :
                Step(a.to, after, {a.from}, {})

(***************************************************************************)
(* Time passes for a node. Who cannot be elected gives up what it was at,  *)
(* and stands for nothing.                                                 *)
(***************************************************************************)
TimedOut(n, me) ==
    CASE me.role = "leader" -> Resigned(me, TRUE)
      [] me.role = "prospective" -> FallBack(n, me)
      [] ~Electable(n, me) -> Unattached(me, me.epoch, me.voted, me.leader)
      [] OTHER -> Stand(n, me)

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
    /\ answers' = {a \in answers : a.to # n} \cup Unsupported(n, me)

Crash(n) ==
    /\ crashes < Crashes
    /\ crashes' = crashes + 1
    /\ \E me \in {Restarted(n, node[n])} : Restart(n, me)
    /\ UNCHANGED timeouts

Deliver ==
    /\ \/ \E m \in requests : Received(m)
       \/ \E a \in answers : OnAnswer(a)
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
