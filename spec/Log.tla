-------------------------------- MODULE Log --------------------------------
(***************************************************************************)
(* What followers fetch (KIP-595): batches of whoever leads, and where     *)
(* their log and its log part. A fetch tells that its sender has on disk   *)
(* all that it has; what a majority has is committed once a batch of the   *)
(* leader's own epoch is. A disk writes and syncs in steps, and a crash    *)
(* leaves any beginning of what was not synced. Elections go on as in      *)
(* Election, whose rules are used here as they are.                        *)
(***************************************************************************)
EXTENDS Election

CONSTANTS
    Proposals, \* of a batch, in all
    AtOnce     \* a disk writes and syncs in the step that appends

VARIABLES
    files,     \* of each node: what is written and what is on disk; of a leader, how far others are
    committed, \* all that ever was
    proposals

logVars == <<node, requests, answers, timeouts, crashes, files, committed, proposals>>

NobodyYet == [v \in Node |-> 0]

Files(log, reached) == [written |-> log, disk |-> log, reached |-> reached, full |-> {}]

LogInit ==
    /\ Init
    /\ files = [n \in Node |-> Files(<< >>, NobodyYet)]
    /\ committed = << >>
    /\ proposals = 0

(***************************************************************************)
(* Or: one node leads the first epoch, all follow, and all has arrived.    *)
(***************************************************************************)
LedNode(x, n) ==
    [Start EXCEPT
        !.epoch = 1,
        !.role = IF x = n THEN "leader" ELSE "follower",
        !.voted = IF x \in First THEN n ELSE None,
        !.leader = n,
        !.heard = x # n,
        !.log = <<Batch(1, First)>>,
        !.hw = 1]

LedFiles(x, n) ==
    [written |-> <<Batch(1, First)>>,
     disk |-> <<Batch(1, First)>>,
     reached |-> [v \in Node |-> IF x = n /\ v # n THEN 1 ELSE 0],
     full |-> IF x = n THEN Node \ {n} ELSE {}]

Late(m) == [m EXCEPT !.open = FALSE]

Led(n) ==
    /\ node = [x \in Node |-> LedNode(x, n)]
    /\ files = [x \in Node |-> LedFiles(x, n)]
    /\ requests = {Request("fetch", x, n, LedNode(x, n)) : x \in Node \ {n}}
            \cup {Late(Request("fetch", x, n, [LedNode(x, n) EXCEPT !.log = << >>])) : x \in Node \ {n}}
    /\ answers = {}
    /\ timeouts = 0
    /\ crashes = 0
    /\ committed = <<Batch(1, First)>>
    /\ proposals = 0

Min(a, b) == IF a < b THEN a ELSE b

Max(a, b) == IF a > b THEN a ELSE b

(***************************************************************************)
(* How many batches two logs have in common, and how many of a log have an *)
(* epoch up to e.                                                          *)
(***************************************************************************)
Common(a, b) ==
    LET same == {k \in 0..Min(Len(a), Len(b)) : SubSeq(a, 1, k) = SubSeq(b, 1, k)}
    IN  CHOOSE k \in same : \A j \in same : j <= k

UpTo(log, e) == Cardinality({k \in 1..Len(log) : log[k].epoch <= e})

IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a

(***************************************************************************)
(* What a leader knows to be committed. Batches of past epochs are not     *)
(* counted: a longer log of an epoch between might still win. Of its own   *)
(* log a leader counts what is on its disk.                                *)
(***************************************************************************)
Holders(n, me, f, k) ==
    {v \in Node : IF v = n THEN Common(me.log, f.disk) >= k ELSE f.reached[v] >= k}

HighWatermark(n, me, f) ==
    LET counted == {k \in (me.hw + 1)..Len(me.log) :
                        /\ me.log[k].epoch = me.epoch
                        /\ IsMajority(Holders(n, me, f, k), VotersOf(me.log))}
    IN  IF counted = {} THEN me.hw ELSE CHOOSE k \in counted : \A j \in counted : j <= k

Advanced(n, me, f) == IF me.role = "leader" THEN [me EXCEPT !.hw = HighWatermark(n, me, f)] ELSE me

(***************************************************************************)
(* A leader that the committed set does not name is done.                  *)
(***************************************************************************)
Relieved(n, me) ==
    IF me.role = "leader" /\ n \notin VotersOf(me.log) /\ SetAt(me.log) <= me.hw
    THEN Resigned(me, TRUE)
    ELSE me

(***************************************************************************)
(* What a node tells of its log is on its disk.                            *)
(***************************************************************************)
Durable(me, f) == [me EXCEPT !.log = SubSeq(@, 1, Common(@, f.disk))]

Fetches(n, me, f, open) ==
    IF /\ me.role = "follower"
       /\ f.disk = me.log
       /\ ~\E m \in open : m.kind = "fetch" /\ m.from = n /\ m.open
    THEN {Request("fetch", n, me.leader, me)}
    ELSE {}

(***************************************************************************)
(* As Step, for a node whose files become f. With the role goes what a     *)
(* leader knows of others.                                                 *)
(***************************************************************************)
Settle(n, me, f) ==
    LET g == IF AtOnce THEN [f EXCEPT !.written = me.log, !.disk = me.log] ELSE f
    IN  IF NewRound(node[n], me) THEN [g EXCEPT !.reached = NobodyYet, !.full = {}] ELSE g

Carry(n, was, before, heardFrom, said) ==
    \E f \in {Settle(n, was, before)} :
        \E me \in {Relieved(n, Advanced(n, was, f))} :
            \E void \in {Void(n, me, heardFrom)} :
                \E open \in {RequestsAfter(n, me, Durable(me, f), void)} :
                    /\ me.epoch <= Epochs
                    /\ node' = [node EXCEPT ![n] = me]
                    /\ files' = [files EXCEPT ![n] = f]
                    /\ requests' = open \cup Fetches(n, me, f, open)
                    /\ answers' = AnswersAfter(n, me, me, void) \cup said
                    /\ committed' = IF me.hw > Len(committed) THEN SubSeq(me.log, 1, me.hw) ELSE committed

LogReceived(m) ==
    /\ m.kind # "fetch"
    /\ \E me \in {Learn(m.to, node[m.to], m.epoch, LeaderIn(m))} :
        \E o \in Outcomes(m, me) :
            Carry(m.to, o.me, files[m.to], {}, Say(m, me, o.ok))

LogAnswered(a) ==
    /\ a.kind # "fetch"
    /\ \E me \in {Heeded(a.to, node[a.to], a)} :
        \E told \in {Answered(a, me)} :
            \E after \in {Judge(a.to, told)} :
                Carry(a.to, after, files[a.to], {a.from}, {})

(***************************************************************************)
(* A leader compares the end of the asker's log with its own. If the logs  *)
(* part before, it tells where, and takes no note of the fetch.            *)
(***************************************************************************)
Parts(log, m) ==
    \E end \in {UpTo(log, m.last)} :
        /\ m.end > 0
        /\ \/ end < m.end
           \/ log[end].epoch # m.last

(***************************************************************************)
(* A leader tells what is committed when a batch of its own epoch is.      *)
(***************************************************************************)
Announces(me) == IF me.hw > 0 /\ me.log[me.hw].epoch = me.epoch THEN me.hw ELSE 0

FetchAnswer(m, me) ==
    [kind |-> "fetch",
     from |-> m.to,
     to |-> m.from,
     epoch |-> me.epoch,
     leader |-> me.leader,
     ok |-> FALSE,
     end |-> 0,
     last |-> 0,
     batches |-> << >>,
     hw |-> 0]

Parting(m, me) ==
    \E end \in {UpTo(me.log, m.last)} :
        Carry(m.to, me, files[m.to], {},
            IF m.open
            THEN {[FetchAnswer(m, me) EXCEPT
                    !.end = end,
                    !.last = IF end = 0 THEN m.last ELSE me.log[end].epoch]}
            ELSE {})

Giving(m, me) ==
    \E f \in {[files[m.to] EXCEPT
                !.reached = [@ EXCEPT ![m.from] = m.end],
                !.full = IF m.end >= Len(me.log) THEN @ \cup {m.from} ELSE @]} :
        \E hw \in {Announces(Advanced(m.to, me, f))} :
            Carry(m.to, me, f, {},
                IF m.open
                THEN {[FetchAnswer(m, me) EXCEPT
                        !.ok = TRUE,
                        !.end = m.end,
                        !.batches = SubSeq(me.log, m.end + 1, Common(me.log, f.written)),
                        !.hw = hw]}
                ELSE {})

OnFetch(m) ==
    /\ m.kind = "fetch"
    /\ \E me \in {node[m.to]} :
        \/ /\ m.open
           /\ m.epoch < me.epoch
           /\ Carry(m.to, me, files[m.to], {}, {FetchAnswer(m, me)})
        \/ /\ m.epoch = me.epoch
           /\ me.role = "leader"
           /\ IF Parts(me.log, m) THEN Parting(m, me) ELSE Giving(m, me)

(***************************************************************************)
(* A follower appends what it gets, or cuts what its leader does not have. *)
(***************************************************************************)
Appended(me, a) ==
    [me EXCEPT
        !.heard = TRUE,
        !.log = @ \o a.batches,
        !.hw = Max(@, Min(a.hw, Len(me.log) + Len(a.batches)))]

CutAt(log, a) ==
    LET end == UpTo(log, a.last)
    IN  IF end > 0 /\ log[end].epoch = a.last THEN Min(end, a.end) ELSE end

Cut(me, a) ==
    [me EXCEPT
        !.heard = TRUE,
        !.log = SubSeq(@, 1, IF a.last = 0 THEN Min(a.end, Len(@)) ELSE CutAt(@, a))]

OnFetchAnswer(a) ==
    /\ a.kind = "fetch"
    /\ \E me \in {Heeded(a.to, node[a.to], a)} :
        \E after \in {IF me # node[a.to] THEN me ELSE IF a.ok THEN Appended(me, a) ELSE Cut(me, a)} :
            Carry(a.to, after, files[a.to], {a.from}, {})

LogTimeout(n) ==
    /\ timeouts < Timeouts
    /\ timeouts' = timeouts + 1
    /\ \E me \in {TimedOut(n, node[n])} : Carry(n, me, files[n], {}, {})
    /\ UNCHANGED <<crashes, proposals>>

Propose(n) ==
    /\ proposals < Proposals
    /\ node[n].role = "leader"
    /\ proposals' = proposals + 1
    /\ \E me \in {[node[n] EXCEPT !.log = Append(@, Batch(node[n].epoch, VotersOf(@)))]} :
        Carry(n, me, files[n], {}, {})
    /\ UNCHANGED <<timeouts, crashes>>

Write(n) ==
    /\ files[n].written # node[n].log
    /\ Carry(n, node[n], [files[n] EXCEPT !.written = node[n].log], {}, {})
    /\ UNCHANGED <<timeouts, crashes, proposals>>

Sync(n) ==
    /\ files[n].disk # files[n].written
    /\ Carry(n, node[n], [files[n] EXCEPT !.disk = files[n].written], {}, {})
    /\ UNCHANGED <<timeouts, crashes, proposals>>

(***************************************************************************)
(* Of what was written and not synced a crash leaves all, some or nothing. *)
(***************************************************************************)
Left(f) ==
    {f.disk, f.written}
        \cup {SubSeq(f.written, 1, k) : k \in {j \in 1..Len(f.written) : j > Len(f.disk)}}

LogCrash(n) ==
    /\ crashes < Crashes
    /\ crashes' = crashes + 1
    /\ \E log \in Left(files[n]) :
        \E me \in {Restarted(n, [node[n] EXCEPT !.log = log])} :
            \E open \in {Unsettled(Closed(requests, n, Node) \cup Asks(n, me), n, me)} :
                /\ node' = [node EXCEPT ![n] = me]
                /\ files' = [files EXCEPT ![n] = Files(log, NobodyYet)]
                /\ requests' = open \cup Fetches(n, me, Files(log, NobodyYet), open)
    /\ answers' = {a \in answers : a.to # n}
    /\ UNCHANGED <<committed, timeouts, proposals>>

LogDeliver ==
    /\ \/ \E m \in requests : LogReceived(m)
       \/ \E m \in requests : OnFetch(m)
       \/ \E a \in answers : LogAnswered(a)
       \/ \E a \in answers : OnFetchAnswer(a)
    /\ UNCHANGED <<timeouts, crashes, proposals>>

LogNext ==
    \/ \E n \in Node : LogTimeout(n)
    \/ \E n \in Node : LogCrash(n)
    \/ \E n \in Node : Propose(n)
    \/ \E n \in Node : Write(n)
    \/ \E n \in Node : Sync(n)
    \/ LogDeliver

LogSpec == LogInit /\ [][LogNext]_logVars

LedSpec == (\E n \in {CHOOSE x \in First : TRUE} : Led(n)) /\ [][LogNext]_logVars

(***************************************************************************)
(* Whoever leads the newest epoch has all that is committed, and so has    *)
(* whoever could win. What is committed is on a majority of disks.         *)
(***************************************************************************)
Complete ==
    \A n \in Node :
        (/\ node[n].role = "leader"
         /\ \A m \in Node : node[m].epoch <= node[n].epoch)
        => IsPrefix(committed, node[n].log)

Covers(a, b) ==
    \/ LastEpoch(a) > LastEpoch(b)
    \/ LastEpoch(a) = LastEpoch(b) /\ Len(a) >= Len(b)

Safe ==
    \A n \in Node :
        IsMajority({v \in Node : Covers(node[n].log, node[v].log)}, VotersOf(node[n].log))
        => IsPrefix(committed, node[n].log)

OnDisk == IsMajority({v \in Node : IsPrefix(committed, files[v].disk)}, VotersOf(committed))

Known == \A n \in Node : IsPrefix(SubSeq(node[n].log, 1, node[n].hw), committed)

Stays == [][IsPrefix(committed, committed')]_logVars
=============================================================================
