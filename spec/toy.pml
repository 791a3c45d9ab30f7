/*
 * The toy on which every checker of the quorum is calibrated: an election of three
 * nodes, messages that are a set and never leave it. It has to have exactly these
 * stored states: E=1 R=0 623, E=1 R=1 2,131, E=2 R=0 941,139, E=2 R=1 2,959,752,
 * E=2 R=2 5,439,270.
 *
 * spin -DE=2 -DR=0 -a toy.pml
 */
#ifndef E
#define E 1 /* no epoch beyond */
#endif
#ifndef R
#define R 0 /* restarts in all */
#endif

#define UNATTACHED 0
#define CANDIDATE 1
#define LEADER 2
#define FOLLOWER 3

/* Nodes are 1 to 3, 0 is none. */
typedef Node {
	byte epoch;
	byte state;
	byte voted;
	byte leader;
	byte votes /* a bit a node */
}
Node n[4];
byte restarts;

/* A message is one bit of the mask of its kind: epochs 1 and 2, from and to 1 to 3. */
int request, grant, refuse, begin;

#define bit(epoch, from, to) (1 << (((epoch) - 1) * 9 + ((from) - 1) * 3 + (to) - 1))
#define next(i) ((i) % 3 + 1)

#define me n[_pid + 1]
#define i (_pid + 1)

inline higher(e) {
	if
	:: e > me.epoch ->
		me.epoch = e;
		me.state = UNATTACHED;
		me.voted = 0;
		me.leader = 0;
		me.votes = 0
	:: else
	fi
}

/* No epoch has two leaders. */
#define differ(a, b) (n[a].epoch == n[b].epoch && n[a].leader && n[b].leader && n[a].leader != n[b].leader)
#define safe assert(!differ(1, 2) && !differ(1, 3) && !differ(2, 3))

#define receive(e, from) \
	:: d_step { \
		(request & bit(e, from, i)) -> \
		higher(e); \
		if \
		:: e == me.epoch && me.state == UNATTACHED && me.leader == 0 && (me.voted == 0 || me.voted == from) -> \
			me.voted = from; \
			grant = grant | bit(me.epoch, i, from) \
		:: else -> \
			refuse = refuse | bit(me.epoch, i, from) \
		fi \
	} \
	:: d_step { \
		(grant & bit(e, from, i)) -> \
		higher(e); \
		if \
		:: e == me.epoch && me.state == CANDIDATE -> \
			me.votes = me.votes | (1 << (from - 1)) \
		:: else \
		fi \
	} \
	:: d_step { \
		(refuse & bit(e, from, i)) -> \
		higher(e) \
	} \
	:: d_step { \
		(begin & bit(e, from, i)) -> \
		higher(e); \
		if \
		:: e == me.epoch && me.leader == 0 && me.state != LEADER -> \
			me.state = FOLLOWER; \
			me.leader = from; \
			me.votes = 0; \
			safe \
		:: else \
		fi \
	}

active [3] proctype node() {
	do
	:: d_step { /* timeout */
		(me.state != LEADER && me.epoch < E) ->
		me.epoch++;
		me.state = CANDIDATE;
		me.voted = i;
		me.leader = 0;
		me.votes = 1 << (i - 1);
		request = request | bit(me.epoch, i, next(i)) | bit(me.epoch, i, next(next(i)))
	}
	:: d_step { /* lead */
		(me.state == CANDIDATE && (me.votes & (me.votes - 1))) ->
		me.state = LEADER;
		me.leader = i;
		begin = begin | bit(me.epoch, i, next(i)) | bit(me.epoch, i, next(next(i)));
		safe
	}
	:: d_step { /* restart */
		(restarts < R) ->
		restarts++;
		me.votes = 0;
		if
		:: me.state == LEADER || me.state == CANDIDATE ->
			me.state = UNATTACHED
		:: else
		fi;
		if
		:: me.leader == i ->
			me.leader = 0
		:: else
		fi
	}
	receive(1, next(i))
	receive(1, next(next(i)))
	receive(2, next(i))
	receive(2, next(next(i)))
	od
}
