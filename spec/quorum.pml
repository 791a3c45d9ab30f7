/*
 * Election with Pre-Vote, and the log: KIP-595 and KIP-996 as spec/Election.tla has
 * them, and what followers fetch, disks that lose what they had not synced, and the
 * high watermark. Time is left out: whatever a node waits for may end at any moment.
 * Messages are a set; they are lost, late, repeated and reordered.
 *
 * spin -DN=3 -DE=2 -DT=2 -DC=1 -DP=1 -a quorum.pml
 */
#ifndef N
#define N 3 /* voters */
#endif
#ifndef E
#define E 2 /* no step beyond this epoch; at most 3 */
#endif
#ifndef T
#define T 2 /* how often a role's time ends, in all */
#endif
#ifndef C
#define C 0 /* crashes, in all */
#endif
#ifndef P
#define P 0 /* proposals, in all */
#endif
/* MUTE: nobody hears a fetch. ATONCE: a disk writes and syncs in one step. */

#define MAJORITY (N / 2 + 1)

#define UNATTACHED 0
#define PROSPECTIVE 1
#define CANDIDATE 2
#define LEADER 3
#define FOLLOWER 4
#define RESIGNED 5

/*
 * A log is the epochs of its batches, two bits each, the first one lowest. It goes
 * through three stages: asked for, written, on disk.
 */
typedef Node {
	byte epoch;
	byte role;
	byte voted;   /* nodes are 1 to N, 0 is none */
	byte leader;
	byte granted; /* a bit a node */
	byte refused;
	bit heard;    /* a follower: of its leader; one that resigned: of its successors */
	bit fetching; /* it waits for the answer to a fetch */
	byte hw;      /* batches known to be committed */
	short log;
	short written;
	short disk;
	byte reached[N + 1] /* a leader: how far each voter has fetched */
}
Node n[N + 1];
byte timeouts, crashes, proposals;
bit beyond; /* the last epoch was passed: here the search ends */

/* What has been seen on the way, for the rules below. */
byte led[4];    /* who leads an epoch */
short begun[4]; /* the log with which it began */
short ledger;   /* all that was ever committed */
byte given[4];  /* votes of an epoch, two bits a node */

/* Messages are packed, and sorted. */
#define M 48
int m[M];
byte count;

#define PREVOTE 0
#define VOTE 1
#define BEGIN 2
#define END 3
#define FETCH 4
#define ANSWER 8 /* added to the kind of the request */

/* Of a request a is the length of the log and b its last epoch; ok tells, of END,
 * that the successors are known. Of an answer to a vote or to an epoch a is the
 * leader. An answer to a fetch has records a to b and the high watermark c; or,
 * when it is not ok, where the logs diverge, in a, and the epoch there, in b. */
#define pack(kind, from, to, epoch, a, b, c, ok, open) \
	((kind) << 20 | (from) << 17 | (to) << 14 | (epoch) << 12 | (a) << 9 | (b) << 6 | (c) << 3 | (ok) << 1 | (open))
#define kind(x) ((x) >> 20)
#define from(x) ((x) >> 17 & 7)
#define to(x) ((x) >> 14 & 7)
#define epochOf(x) ((x) >> 12 & 3)
#define aOf(x) ((x) >> 9 & 7)
#define bOf(x) ((x) >> 6 & 7)
#define cOf(x) ((x) >> 3 & 7)
#define okOf(x) ((x) >> 1 & 1)
#define openOf(x) ((x) & 1)

#define len(log) ((log) >= 4096 -> 7 : ((log) >= 1024 -> 6 : ((log) >= 256 -> 5 : ((log) >= 64 -> 4 : ((log) >= 16 -> 3 : ((log) >= 4 -> 2 : ((log) >= 1 -> 1 : 0)))))))
#define entry(log, k) ((log) >> (2 * (k)) & 3)
#define first(log, k) ((log) & ((1 << (2 * (k))) - 1))
#define last(log) ((log) == 0 -> 0 : entry(log, len(log) - 1))
#define append(log, e) ((log) | (e) << (2 * len(log)))
#define bits(s) (((s) >> 1 & 1) + ((s) >> 2 & 1) + ((s) >> 3 & 1) + ((s) >> 4 & 1) + ((s) >> 5 & 1))
#define set(i) (1 << (i))

#define i (_pid + 1)
#define me n[i]

/* Of the step under way; no part of the state. */
hidden byte k, j, x, v, got;
hidden int msg, say, old;
hidden byte choice, ok, fresh;
hidden short keep, cut;

#ifdef SHOW
c_code { \#include "show.h" };
#define show() c_code { showNow(); }
#else
#define show() skip
#endif

/* put adds the message say to the set. */
inline put() {
	x = 0;
	do
	:: x < count && m[x] < say -> x++
	:: else -> break
	od;
	if
	:: x < count && m[x] == say
	:: else ->
		assert(count < M);
		j = count;
		do
		:: j > x -> m[j] = m[j - 1]; j--
		:: else -> break
		od;
		m[x] = say;
		count++
	fi
}

/* drop takes the message at k out. */
inline drop() {
	j = k;
	do
	:: j + 1 < count -> m[j] = m[j + 1]; j++
	:: else -> break
	od;
	count--;
	m[count] = 0
}

/* void: nobody waits any more for what node i asked of who: of all when it is 0.
 * Answers go, requests stay and are late. */
inline void(who) {
	k = 0;
	do
	:: k < count && to(m[k]) == i && kind(m[k]) >= ANSWER && (who == 0 || from(m[k]) == who) ->
		drop()
	:: k < count && from(m[k]) == i && kind(m[k]) < ANSWER && openOf(m[k]) && (who == 0 || to(m[k]) == who) ->
		say = m[k] - 1;
		drop();
		put();
		k = 0
	:: k < count && !(to(m[k]) == i && kind(m[k]) >= ANSWER && (who == 0 || from(m[k]) == who)) && !(from(m[k]) == i && kind(m[k]) < ANSWER && openOf(m[k]) && (who == 0 || to(m[k]) == who)) ->
		k++
	:: k >= count -> break
	od
}

/* settle drops late requests to node i that change nothing any more. */
inline settle() {
	k = 0;
	do
	:: k >= count -> break
	:: k < count && to(m[k]) == i && kind(m[k]) < ANSWER && !openOf(m[k]) &&
		(epochOf(m[k]) < me.epoch || epochOf(m[k]) == me.epoch && (kind(m[k]) == PREVOTE ||
			kind(m[k]) == VOTE && (me.voted || me.leader) || kind(m[k]) == BEGIN && me.leader)) ->
		drop()
	:: else -> k++
	od
}

/* common: how many batches of the log a file has. One that has not been cut yet may
 * have others after these. */
inline common(file) {
	x = 0;
	do
	:: x < len(file) && x < len(me.log) && entry(file, x) == entry(me.log, x) -> x++
	:: else -> break
	od
}

/* ask tells of the log only what is on disk: a candidate may be killed, and whoever
 * has granted its vote grants it again when it is back. */
inline ask(what) {
	common(me.disk);
	keep = first(me.log, x);
	v = 1;
	do
	:: v > N -> break
	:: v <= N ->
		if
		:: v != i ->
			say = pack(what, i, v, me.epoch, len(keep), last(keep), 0, me.heard, 1);
			put()
		:: else
		fi;
		v++
	od
}

/* turn: another role, or another round. */
inline turn(to_role) {
	me.role = to_role;
	me.heard = 0;
	me.granted = 0;
	me.refused = 0;
	me.fetching = 0;
	v = 1;
	do
	:: v > N -> break
	:: v <= N -> me.reached[v] = 0; v++
	od;
	fresh = 1
}

inline unattached(eE, vV, lL) {
	turn(UNATTACHED);
	me.epoch = eE;
	me.voted = vV;
	me.leader = lL
}

inline follower(eE, vV, lL) {
	turn(FOLLOWER);
	me.epoch = eE;
	me.voted = vV;
	me.leader = lL
}

inline prospective() {
	turn(PROSPECTIVE);
	me.granted = set(i)
}

inline resigned(knows) {
	turn(RESIGNED);
	me.heard = knows
}

inline vote(who) {
	assert((given[me.epoch] >> (2 * (i - 1)) & 3) == 0 || (given[me.epoch] >> (2 * (i - 1)) & 3) == who);
	given[me.epoch] = given[me.epoch] | who << (2 * (i - 1));
	me.voted = who
}

inline fallBack() {
	if
	:: me.leader == 0 || me.leader == i ->
		unattached(me.epoch, me.voted, me.leader)
	:: else ->
		follower(me.epoch, me.voted, me.leader)
	fi
}

/* learn: a message names an epoch and, perhaps, who leads it. */
inline learn(eE, lL) {
	if
	:: eE > me.epoch && (lL == 0 || lL == i) -> unattached(eE, 0, 0)
	:: eE > me.epoch && lL != 0 && lL != i -> follower(eE, 0, lL)
	:: eE == me.epoch && lL != 0 && lL != i && me.leader == 0 -> follower(eE, me.voted, lL)
	:: else
	fi
}

/* judge: what follows from a tally. The first batch of an epoch says who leads. */
inline judge() {
	if
	:: me.role == PROSPECTIVE && bits(me.granted) >= MAJORITY ->
		turn(CANDIDATE);
		beyond = me.epoch == E;
		me.epoch = me.epoch + !beyond;
		me.leader = 0;
		me.granted = set(i);
		if
		:: !beyond -> vote(i)
		:: else
		fi
	:: me.role == PROSPECTIVE && N - bits(me.refused) < MAJORITY ->
		fallBack()
	:: else
	fi;
	if
	:: me.role == CANDIDATE && bits(me.granted) >= MAJORITY ->
		turn(LEADER);
		me.leader = i;
		assert(first(me.log, len(ledger)) == ledger || last(ledger) > me.epoch); /* it has all that was committed before */
		begun[me.epoch] = me.log;
		me.log = append(me.log, me.epoch)
	:: else
	fi
}

/* commit: the high watermark is where a majority has synced to, and only batches of
 * the leader's own epoch are counted. */
inline commit() {
	common(me.disk);
	me.reached[i] = x;
	x = len(me.log);
	do
	:: x <= me.hw -> break
	:: x > me.hw ->
		got = 0;
		v = 1;
		do
		:: v > N -> break
		:: v <= N ->
			got = got + (me.reached[v] >= x -> 1 : 0);
			v++
		od;
		if
		:: got >= MAJORITY && entry(me.log, x - 1) == me.epoch ->
			me.hw = x;
			break
		:: else -> x--
		fi
	od;
	me.reached[i] = 0
}

#define covers(a, b) (last(n[a].log) > last(n[b].log) || last(n[a].log) == last(n[b].log) && len(n[a].log) >= len(n[b].log))

/* safe: whoever lacks what is committed has no majority whose logs are not longer. */
inline safe() {
	j = 1;
	do
	:: j > N -> break
	:: j <= N && first(n[j].log, len(ledger)) == ledger -> j++
	:: else ->
		got = 0;
		v = 1;
		do
		:: v > N -> break
		:: v <= N ->
			got = got + (covers(j, v) -> 1 : 0);
			v++
		od;
		assert(got < MAJORITY);
		j++
	od
}

/* holds: nothing that is known to be committed is another's, or on too few disks. */
inline holds() {
	if
	:: me.leader ->
		assert(led[me.epoch] == 0 || led[me.epoch] == me.leader); /* one leader an epoch */
		led[me.epoch] = me.leader
	:: else
	fi;
	assert(me.hw <= len(me.log));
	if
	:: me.hw > len(ledger) ->
		assert(first(me.log, len(ledger)) == ledger);
		got = 0;
		v = 1;
		do
		:: v > N -> break
		:: v <= N ->
			got = got + (len(n[v].disk) >= me.hw && first(n[v].disk, me.hw) == first(me.log, me.hw) -> 1 : 0);
			v++
		od;
		assert(got >= MAJORITY);
		ledger = first(me.log, me.hw)
	:: else ->
		assert(first(me.log, me.hw) == first(ledger, me.hw))
	fi;
	safe()
}

/* done: what comes of a step of node i. */
inline done() {
	if
	:: !beyond -> doneWithin()
	:: else
	fi;
	fresh = 0; choice = 0; ok = 0; msg = 0; say = 0; k = 0; j = 0; x = 0; v = 0; got = 0; keep = 0; cut = 0; old = 0
}

inline doneWithin() {
#ifdef ATONCE
	me.written = me.log;
	me.disk = me.log;
#endif
	if
	:: me.role == LEADER -> commit()
	:: else
	fi;
	if
	:: fresh && me.role == PROSPECTIVE -> ask(PREVOTE)
	:: fresh && me.role == CANDIDATE -> ask(VOTE)
	:: fresh && me.role == LEADER -> ask(BEGIN)
	:: fresh && me.role == RESIGNED -> ask(END)
	:: else
	fi;
#ifndef MUTE
	if
	:: me.role == FOLLOWER && !me.fetching && me.disk == me.log ->
		me.fetching = 1;
		say = pack(FETCH, i, me.leader, me.epoch, len(me.log), last(me.log), 0, 0, 1);
		put()
	:: else
	fi;
#endif
	settle();
	holds();
	show()
}

/* reply puts an answer that may change something. */
inline reply(aA, bB, cC, isOK) {
	say = pack(kind(msg) + ANSWER, i, from(msg), me.epoch, aA, bB, cC, isOK, 0);
	put()
}

inline onEpoch() { /* BEGIN and END */
	learn(epochOf(msg), from(msg));
	if
	:: fresh -> void(0)
	:: else
	fi;
	if
	:: kind(msg) == END && me.role == FOLLOWER && me.leader == from(msg) && me.epoch == epochOf(msg) ->
		me.heard = 0;
		if
		:: choice -> prospective(); void(0)
		:: else
		fi
	:: else
	fi;
	if
	:: openOf(msg) && me.epoch > epochOf(msg) -> reply(me.leader, 0, 0, 0)
	:: else
	fi
}

#define upToDate (bOf(msg) > last(me.log) || bOf(msg) == last(me.log) && aOf(msg) >= len(me.log))

inline onVote() { /* PREVOTE and VOTE */
	learn(epochOf(msg), 0);
	if
	:: fresh -> void(0)
	:: else
	fi;
	ok = 0;
	if
	:: epochOf(msg) < me.epoch
	:: epochOf(msg) == me.epoch && kind(msg) == PREVOTE ->
		ok = me.role != LEADER && !(me.role == FOLLOWER && me.heard) && upToDate
	:: else ->
		ok = (me.role == UNATTACHED || me.role == PROSPECTIVE) &&
			(me.voted == from(msg) || me.voted == 0 && me.leader == 0 && upToDate);
		if
		:: ok && me.voted == 0 ->
			vote(from(msg));
			if
			:: me.role == PROSPECTIVE -> prospective(); void(0) /* it asks anew */
			:: else
			fi
		:: else
		fi
	fi;
	if
	:: openOf(msg) && (kind(msg) == PREVOTE || me.epoch > epochOf(msg) || ok || me.leader) ->
		reply(me.leader, 0, 0, ok)
	:: else
	fi
}

/* ends: how many batches have an epoch up to e. */
inline ends(inLog, upTo) {
	x = 0;
	do
	:: x < len(inLog) && entry(inLog, x) <= upTo -> x++
	:: else -> break
	od
}

inline onFetch() {
	if
	:: me.epoch > epochOf(msg) && openOf(msg) -> reply(me.leader, 0, 7, 0)
	:: me.epoch == epochOf(msg) && me.role == LEADER ->
		ends(me.log, bOf(msg));
		v = (x > 0 -> entry(me.log, x - 1) : bOf(msg)); /* the epoch that ends there */
		if
		:: aOf(msg) == 0 || v == bOf(msg) && x >= aOf(msg) ->
			me.reached[from(msg)] = aOf(msg);
			commit();
			if
			:: openOf(msg) ->
				common(me.written);
				got = (x < aOf(msg) -> aOf(msg) : x);
				/* of what is committed it tells when a batch of its own epoch is */
				v = (me.hw == 0 -> 0 : entry(me.log, me.hw - 1));
				v = (v == me.epoch -> me.hw : 0);
				reply(aOf(msg), got, v, 1)
			:: else
			fi
		:: else ->
			if
			:: openOf(msg) -> reply(x, v, 0, 0)
			:: else
			fi
		fi
	:: else
	fi
}

inline onAnswer() {
	void(from(msg));
	old = (kind(msg) == FETCH + ANSWER && cOf(msg) != 7 -> me.leader : aOf(msg));
	learn(epochOf(msg), old);
	if
	:: fresh -> void(0)
	:: !fresh && kind(msg) != FETCH + ANSWER && epochOf(msg) == me.epoch && (me.role == PROSPECTIVE || me.role == CANDIDATE) ->
		if
		:: okOf(msg) -> me.granted = me.granted | set(from(msg))
		:: else -> me.refused = me.refused | set(from(msg))
		fi;
		judge();
		if
		:: fresh -> void(0)
		:: else
		fi
	:: !fresh && kind(msg) == FETCH + ANSWER && epochOf(msg) == me.epoch && okOf(msg) ->
		me.fetching = 0;
		me.heard = 1;
		assert(len(me.log) == aOf(msg));
		v = aOf(msg);
		do
		:: v < bOf(msg) ->
			me.log = append(me.log, (v < len(begun[me.epoch]) -> entry(begun[me.epoch], v) : me.epoch));
			v++
		:: else -> break
		od;
		x = (cOf(msg) < len(me.log) -> cOf(msg) : len(me.log));
		me.hw = (x > me.hw -> x : me.hw)
	:: !fresh && kind(msg) == FETCH + ANSWER && epochOf(msg) == me.epoch && !okOf(msg) && cOf(msg) != 7 ->
		me.fetching = 0;
		me.heard = 1;
		ends(me.log, bOf(msg));
		cut = (x > 0 && entry(me.log, x - 1) == bOf(msg) && aOf(msg) < x -> aOf(msg) : x);
		cut = (bOf(msg) == 0 -> (aOf(msg) < len(me.log) -> aOf(msg) : len(me.log)) : cut);
		assert(cut >= me.hw); /* what is committed stays */
		me.log = first(me.log, cut)
	:: else
	fi
}

inline receive() {
	msg = m[k];
	if
	:: kind(msg) == PREVOTE || kind(msg) == VOTE -> onVote()
	:: kind(msg) == BEGIN || kind(msg) == END -> onEpoch()
	:: kind(msg) == FETCH -> onFetch()
	:: else -> onAnswer()
	fi;
	done()
}

inline restart() {
	me.log = keep;
	me.written = keep;
	me.disk = keep;
	me.hw = 0;
	if
	:: me.leader == i -> resigned(0)
	:: me.leader != i && me.leader != 0 -> follower(me.epoch, me.voted, me.leader)
	:: me.leader == 0 && me.voted == i -> turn(CANDIDATE); me.granted = set(i)
	:: else -> unattached(me.epoch, me.voted, 0)
	fi;
	void(0);
	done()
}

#define pick(p) :: !beyond && p < count && to(m[p]) == i -> k = p

active [N] proctype node() {
	do
	:: d_step { /* the role's time ends */
		!beyond && timeouts < T ->
		timeouts++;
		if
		:: me.role == LEADER -> resigned(1)
		:: me.role == PROSPECTIVE -> fallBack()
		:: else -> prospective(); judge()
		fi;
		void(0);
		done()
	}
	:: atomic {
		!beyond && crashes < C ->
		crashes++;
		if
		:: keep = me.disk
		:: me.written != me.disk -> keep = me.written
		:: len(me.written) >= len(me.disk) + 2 -> keep = first(me.written, len(me.disk) + 1)
		fi;
		d_step { restart() }
	}
	:: d_step {
		(!beyond && proposals < P && me.role == LEADER && len(me.log) < 7) ->
		proposals++;
		me.log = append(me.log, me.epoch);
		done()
	}
	:: d_step {
		(!beyond && me.written != me.log) ->
		me.written = me.log;
		done()
	}
	:: d_step {
		(!beyond && me.disk != me.written) ->
		me.disk = me.written;
		done()
	}
	:: atomic {
		if
		pick(0) pick(1) pick(2) pick(3) pick(4) pick(5) pick(6) pick(7) pick(8) pick(9) pick(10) pick(11)
		pick(12) pick(13) pick(14) pick(15) pick(16) pick(17) pick(18) pick(19) pick(20) pick(21) pick(22) pick(23)
		pick(24) pick(25) pick(26) pick(27) pick(28) pick(29) pick(30) pick(31) pick(32) pick(33) pick(34) pick(35)
		pick(36) pick(37) pick(38) pick(39) pick(40) pick(41) pick(42) pick(43) pick(44) pick(45) pick(46) pick(47)
		fi;
		if
		:: kind(m[k]) == END && okOf(m[k]) -> choice = 1
		:: choice = 0
		fi;
		d_step { receive() }
	}
	od
}
