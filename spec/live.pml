/*
 * That the quorum gets on: with timers much slower than messages, so that a round of
 * votes is one step and no timer ends while there is something to say, and nodes that
 * all go on (weak fairness). Links are cut and
 * healed, nodes are killed and restarted, F times in all; what holds for ever holds
 * when that is over.
 *
 * STUCK is the case of P11 in docs/kip-996.md instead, with five voters: the leader
 * (1) reaches 2 alone, 2 reaches 1 and 3, 4 reaches 3, and 5 is dead. NOCHECK takes
 * check quorum away. LONGER gives voter 3 the longest log, so that only it can win.
 *
 * spin -DF=2 -a live.pml
 */
#ifdef STUCK
#define N 5
#define F 0
#else
#define N 3
#endif
#ifndef F
#define F 2
#endif

#define MAJORITY (N / 2 + 1)

#define UNATTACHED 0
#define PROSPECTIVE 1
#define LEADER 2
#define FOLLOWER 3
#define RESIGNED 4

typedef Node {
	byte epoch;
	byte role;
	byte voted;
	byte leader;
	bit heard; /* the leader has answered a fetch, and has not said farewell */
	bit dead
}
Node n[N + 1];
byte linked[N + 1]; /* a bit for each node that it reaches */
byte faults;

#define i (_pid + 1)
#define me n[i]
#define reaches(a, b) ((linked[a] >> (b) & 1) && !n[a].dead && !n[b].dead)
#define follows(a, b) (n[a].role == FOLLOWER && n[a].leader == (b) && n[a].epoch == n[b].epoch)
#define leads(a) (n[a].role == LEADER && !n[a].dead)

#ifdef LONGER
#define upToDate(a, b) ((a) == 3 || (b) != 3)
#define MAYWIN v == 3
#else
#define upToDate(a, b) true
#define MAYWIN true
#endif

hidden byte v, grants, ahead;

/* learn: node who hears of an epoch, and perhaps of who leads it. */
inline learn(who, anEpoch, aLeader) {
	if
	:: anEpoch > n[who].epoch || anEpoch == n[who].epoch && n[who].leader == 0 && aLeader != 0 && aLeader != who ->
		n[who].voted = (anEpoch > n[who].epoch -> 0 : n[who].voted);
		n[who].epoch = anEpoch;
		n[who].leader = (aLeader == who -> 0 : aLeader);
		n[who].role = (n[who].leader == 0 -> UNATTACHED : FOLLOWER);
		n[who].heard = 0
	:: else
	fi
}

inline fallBack() {
	me.role = (me.leader == 0 || me.leader == i -> UNATTACHED : FOLLOWER);
	me.heard = 0
}

/* elect: a majority has granted the pre-vote, and now gets the vote of the next
 * epoch; nothing comes between. */
inline elect() {
	me.epoch++;
	assert(me.epoch < 20);
	me.voted = i;
	me.leader = 0;
	grants = 1;
	v = 1;
	do
	:: v > N -> break
	:: v <= N && v != i && reaches(i, v) ->
		learn(v, me.epoch, 0);
		if
		:: n[v].epoch == me.epoch && n[v].voted == 0 && n[v].leader == 0 && upToDate(i, v) ->
			n[v].voted = i;
			grants++
		:: else
		fi;
		v++
	:: else -> v++
	od;
	if
	:: grants >= MAJORITY ->
		me.role = LEADER;
		me.leader = i
	:: else ->
		me.role = UNATTACHED
	fi;
	me.heard = 0
}

/* round: a prospective node asks all that it reaches. */
inline round() {
	grants = 1;
	ahead = 0;
	v = 1;
	do
	:: v > N -> break
	:: v <= N && v != i && reaches(i, v) ->
		learn(v, me.epoch, 0);
		if
		:: n[v].epoch > me.epoch || me.leader == 0 && n[v].leader != 0 && n[v].leader != i -> ahead = v
		:: else
		fi;
		grants = grants + (n[v].epoch == me.epoch && n[v].role != LEADER && !(n[v].role == FOLLOWER && n[v].heard) && upToDate(i, v) -> 1 : 0);
		v++
	:: else -> v++
	od;
	if
	:: ahead ->
		fallBack();
		learn(i, n[ahead].epoch, n[ahead].leader)
	:: !ahead && grants >= MAJORITY -> elect()
	:: else -> fallBack()
	fi;
	v = 0; grants = 0; ahead = 0
}

/* contact: node i and node v exchange what they know. */
inline contact(with) {
	learn(i, n[with].epoch, n[with].leader);
	learn(with, me.epoch, me.leader)
}

#define news(a, b) (reaches(a, b) && (n[b].epoch != n[a].epoch || n[a].leader == 0 && n[b].leader != 0 && n[b].leader != a) && \
	(n[a].role == LEADER || n[a].role == UNATTACHED || n[a].role == FOLLOWER && n[a].leader == b))
#define tells(a, b) (reaches(a, b) && n[a].role == LEADER && n[b].epoch == n[a].epoch && n[b].leader == 0)
#define fetches(a, b) (reaches(a, b) && follows(a, b) && n[b].role == LEADER && !n[a].heard)
#define leaves(a, b) (reaches(a, b) && n[a].role == RESIGNED && follows(b, a) && n[b].heard)

/* What the properties speak of, as it is after each step. */
bit busy;      /* somebody has something to say */
bit stands;    /* who leads has a majority that follows */
bit electable; /* a majority is connected */
bit whole;     /* all are connected */
bit settled;   /* all lead, or have heard from who leads */
hidden byte w, kept, met;

inline observe() {
	busy = 0; stands = 0; settled = 1; electable = 0; whole = 1;
	v = 1;
	do
	:: v > N -> break
	:: v <= N ->
		kept = 1; met = 1;
		settled = settled && (n[v].role == LEADER || n[v].role == FOLLOWER && n[v].heard);
		w = 1;
		do
		:: w > N -> break
		:: w <= N && w != v ->
			busy = busy || news(v, w) || tells(v, w) || fetches(v, w) || leaves(v, w);
			kept = kept + (reaches(v, w) && follows(w, v));
			met = met + reaches(v, w);
			w++
		:: else -> w++
		od;
		stands = stands || leads(v) && kept >= MAJORITY;
		electable = electable || met >= MAJORITY && (MAYWIN);
		whole = whole && met == N;
		v++
	od;
	v = 0; w = 0; kept = 0; met = 0
}

/* In the end there is a leader with a majority, if somebody can win. */
ltl led { <>[] (electable -> stands) }
/* In the end all follow, if all are connected: nobody stays prospective. */
ltl calm { <>[] (whole -> settled) }

#define meets(a) \
	:: d_step { (i != a && (news(i, a) || tells(i, a))) -> contact(a); observe() } \
	:: d_step { (i != a && fetches(i, a)) -> me.heard = 1; observe() } \
	:: d_step { (i != a && leaves(i, a)) -> n[a].heard = 0; observe() }

#if N == 5
#define able (1 + reaches(i, 1) + reaches(i, 2) + reaches(i, 3) + reaches(i, 4) + reaches(i, 5) >= MAJORITY)
#else
#define able (1 + reaches(i, 1) + reaches(i, 2) + reaches(i, 3) >= MAJORITY)
#endif

active [N] proctype node() {
end:
	do
	:: d_step { /* its time ends: a follower that does not reach who leads, or that is told to go on */
		(!busy && !me.dead && (me.role == UNATTACHED || me.role == RESIGNED ||
			me.role == FOLLOWER && !(reaches(i, me.leader) && n[me.leader].role == LEADER && n[me.leader].epoch == me.epoch))) ->
		me.role = PROSPECTIVE;
		me.heard = 0;
		observe()
	}
	:: d_step {
		(!busy && !me.dead && me.role == PROSPECTIVE) ->
		round();
		observe()
	}
#ifndef NOCHECK
	:: d_step { /* check quorum */
		(!busy && leads(i) && !able) ->
		me.role = RESIGNED;
		observe()
	}
#endif
	meets(1)
	meets(2)
	meets(3)
#if N == 5
	meets(4)
	meets(5)
#endif
	od
}

#define both(a, b) (1 << (a) | 1 << (b))
#define cut(a, b) \
	:: d_step { (faults < F && (linked[a] >> (b) & 1)) -> faults++; linked[a] = linked[a] - (1 << (b)); linked[b] = linked[b] - (1 << (a)); observe() } \
	:: d_step { (faults < F && !(linked[a] >> (b) & 1)) -> faults++; linked[a] = linked[a] + (1 << (b)); linked[b] = linked[b] + (1 << (a)); observe() }
#define kill(a) \
	:: d_step { (faults < F && !n[a].dead) -> faults++; n[a].dead = 1; observe() } \
	:: d_step { (faults < F && n[a].dead) -> faults++; n[a].dead = 0; n[a].heard = 0; \
		n[a].role = (n[a].leader == a -> RESIGNED : (n[a].leader -> FOLLOWER : UNATTACHED)); observe() }

active proctype world() {
	d_step {
#ifdef STUCK
		linked[1] = both(2, 2);
		linked[2] = both(1, 3);
		linked[3] = both(2, 4);
		linked[4] = both(3, 3);
		n[5].dead = 1;
		n[1].role = LEADER;
		v = 1;
		do
		:: v > N -> break
		:: v <= N ->
			n[v].epoch = 1;
			n[v].leader = 1;
			n[v].voted = 1;
			if
			:: v != 1 -> n[v].role = FOLLOWER; n[v].heard = 1
			:: else
			fi;
			v++
		od;
#else
		linked[1] = both(2, 3);
		linked[2] = both(1, 3);
		linked[3] = both(1, 2);
#endif
		observe()
	}
end:
	do
	cut(1, 2)
	cut(1, 3)
	cut(2, 3)
	kill(1)
	kill(2)
	kill(3)
	od
}
