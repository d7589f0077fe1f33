/*
 * The queue of package mpsc, and the handshake with which it is closed.
 *
 * Every access to head is a step. Accesses to memory that only one process uses
 * belong to the step before them.
 *
 * mutation PUSH_BY_STORE: Push writes the head instead of comparing and swapping
 * mutation TAKE_BY_STORE: take empties the head instead of comparing and swapping
 * mutation TAKE_SENTINEL: take detaches the sentinel like an element
 * mutation NO_REVERSE: take hands out the newest element first
 * mutation NO_CLOSING: two calls of Close push the one sentinel concurrently
 * mutation CLOSE_AFTER_TAKE: Stop drains the queue before it closes it
 * mutation EMPTY_IF_MARKED: Empty takes a closed queue for an empty one
 */
#define NIL	0
#define EACH	2		/* elements per producer */
#define SIZE	4		/* elements in all: 1 to SIZE */
#define SENTINEL	(SIZE + 1)

byte head, oldest;		/* of the queue */
byte next[SIZE + 2];		/* the links; that of sentinel as well */
bool closing, mu;		/* mutexes: Queue.closing, Core.mu */

/* What only the proof knows. */
byte pushed[SIZE + 1];		/* how often an element was accepted */
byte drained[SIZE + 1];		/* how often it came out */
byte inside;			/* elements accepted and not drained */
byte latest[2];			/* element of each producer drained last */
bool popped1;			/* element 1 came out once: it may be pushed again */
byte closes;			/* calls of Close that returned true */

inline lock(m)   { atomic { !m -> m = true } }
inline unlock(m) { m = false }

/* Push: ok is set if e was accepted. */
inline push(e) {
	do
	:: h = head;
	   if
	   :: h == SENTINEL -> next[e] = NIL; ok = false; break
	   :: else
	   fi;
	   next[e] = h;
	   atomic {
		if
#ifdef PUSH_BY_STORE
		:: true ->
#else
		:: head == h ->
#endif
			head = e; ok = true;
			if
			:: e != SENTINEL -> pushed[e]++; inside++
			:: else
			fi;
			break
		:: else
		fi
	   }
	od
}

/* Close */
inline close_() {
#ifndef NO_CLOSING
	lock(closing);
#endif
	if
	:: head == SENTINEL -> ok = false
	:: else -> push(SENTINEL)
	fi;
	if
	:: ok -> closes++
	:: else
	fi;
#ifndef NO_CLOSING
	unlock(closing)
#endif
}

/* reverse, into oldest: h and all below it belong to the consumer. */
inline turn() {
#ifdef NO_REVERSE
	oldest = h
#else
	do
	:: h != NIL -> below = next[h]; next[h] = oldest; oldest = h; h = below
	:: else -> break
	od
#endif
}

/* take, into oldest */
inline take() {
	do
	:: atomic { h = head;
	   if
	   :: h == NIL -> break
#ifdef TAKE_SENTINEL
	   :: false
#else
	   :: h == SENTINEL -> h = next[SENTINEL]; next[SENTINEL] = NIL; turn(); break
#endif
	   :: else
	   fi }
#ifdef TAKE_BY_STORE
	   atomic { head = NIL; turn(); break }
#else
	   atomic {
		if
		:: head == h -> head = NIL; turn(); break
		:: else
		fi
	   }
#endif
	od
}

/* Pop: e is the element, or NIL. */
inline pop() {
	if
	:: oldest == NIL -> take()
	:: else
	fi;
	atomic {
		e = oldest;
		if
		:: e != NIL -> oldest = next[e]; next[e] = NIL; account(e)
		:: else
		fi
	}
}

inline account(x) {
	assert(x <= SIZE);
	drained[x]++; inside--;
	assert(drained[x] <= pushed[x]);
	if
	:: x == 1 && drained[1] == 2		/* pushed again: in no order */
	:: else ->
		assert(x > latest[(x - 1) / EACH]);	/* in the order of its producer */
		latest[(x - 1) / EACH] = x
	fi;
	if
	:: x == 1 -> popped1 = true
	:: else
	fi
}

/* Empty must be true of one moment: that at which it looks at head. */
inline look() {
	atomic {
#ifdef EMPTY_IF_MARKED
		assert(oldest != NIL || (head != NIL && head != SENTINEL) || inside == 0)
#else
		assert(oldest != NIL || !(head == NIL || (head == SENTINEL && next[SENTINEL] == NIL)) || inside == 0)
#endif
	}
}

proctype producer(byte who) {
	byte h, i;
	bool ok;
	for (i : 1 .. EACH) {
		push(who * EACH + i)
	}
}

/* A timeout that was transferred is pushed once more, when it is reset. */
proctype resetter() {
	byte h;
	bool ok;
	if
	:: popped1 -> push(1)
	:: head == SENTINEL && !popped1
	fi
}

proctype worker() {
	byte h, e, below;
	do
	:: head == SENTINEL -> break
	:: lock(mu);
	   do
	   :: pop();
	      if
	      :: e == NIL -> break
	      :: else
	      fi
	   od;
	   look();
	   unlock(mu)
	od
}

proctype stopper() {
	byte h, e, below;
	bool ok;
#ifndef CLOSE_AFTER_TAKE
	close_();
#endif
	lock(mu);
	look();
	do
	:: pop();
	   if
	   :: e == NIL -> break
	   :: else
	   fi
	od;
	look();
	unlock(mu);
#ifdef CLOSE_AFTER_TAKE
	close_()
#endif
}

proctype closer() {
	byte h;
	bool ok;
	close_()
}

init {
	byte e;
	atomic {
		run producer(0); run producer(1); run resetter();
		run worker(); run stopper(); run closer()
	}
	_nr_pr == 1;				/* all the others have ended */
	d_step {
		for (e : 1 .. SIZE) {
			assert(drained[e] == pushed[e])	/* nothing lost, nothing twice */
		}
		assert(head == SENTINEL && closes == 1)
	}
}
