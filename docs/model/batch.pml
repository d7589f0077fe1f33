/*
 * A batch for two workers, and the closing of their intakes.
 *
 * Each worker has one queue, of which only the closing and the elements' owners
 * matter here: queue.pml shows that a push precedes the closing or fails.
 *
 * mutation NO_READER: a batch is pushed without the lock
 * mutation NO_WRITER: the queues are closed without the lock
 * mutation DRAIN_FIRST: Stop drains a queue before all are closed
 * mutation REPORT_FIRST: a single push reports its failure before all queues are closed
 */
#define QUEUES	2

bool closed[QUEUES];
byte readers;			/* of Handle.batching */
bool writer;

/* What only the proof knows. */
byte held[QUEUES];		/* elements of batches in a queue, a bit per batch */
byte taken[QUEUES];		/* the same in the result of Stop */
byte accepted, refused;		/* batches, a bit each */
bool reported;			/* a push was refused, and its caller knows */

inline rlock()   { atomic { !writer -> readers++ } }
inline runlock() { atomic { readers-- } }
inline lock()    { atomic { !writer && readers == 0 -> writer = true } }
inline unlock()  { writer = false }

/* Handle.close */
inline closeAll() {
#ifndef NO_WRITER
	lock();
#endif
	closed[0] = true;
	closed[1] = true;
#ifndef NO_WRITER
	unlock()
#endif
}

/* part.push */
inline push(q) {
	atomic {
		ok = !closed[q];
		if
		:: ok -> held[q] = held[q] | (1 << me)
		:: else
		fi
	}
}

/* Handle.NewTimeouts */
proctype batch(byte me) {
	byte first = me;	/* any worker may be the first */
	bool ok, late;

	late = reported;
#ifndef NO_READER
	rlock();
#endif
	push(first);
	if
	:: ok -> push(1 - first)
	:: else
	fi;
#ifndef NO_READER
	runlock();
#endif
	assert(!(ok && late));
	if
	:: ok -> accepted = accepted | (1 << me)
	:: else -> closeAll(); refused = refused | (1 << me); reported = true
	fi
}

/* Handle.NewTimeout: its element does not matter, only whether it is refused. */
proctype single() {
	byte q;
	bool ok, late;

	late = reported;
	if
	:: q = 0
	:: q = 1
	fi;
	ok = !closed[q];
	assert(!(ok && late));
	if
	:: ok
	:: else ->
#ifdef REPORT_FIRST
	   reported = true;
#endif
	   closeAll();
	   reported = true
	fi
}

/* Handle.takeAll */
proctype stopper() {
#ifdef DRAIN_FIRST
	atomic { taken[0] = held[0]; held[0] = 0 };
#endif
	closeAll();
#ifndef DRAIN_FIRST
	atomic { taken[0] = held[0]; held[0] = 0 };
#endif
	atomic { taken[1] = held[1]; held[1] = 0 }
}

init {
	atomic {
		run batch(0);
		run batch(1);
		run single();
		run single();
		run stopper()
	}
	_nr_pr == 1;		/* all the others have ended */
	/* Stop returns every element of the accepted batches, and none of the others. */
	assert((accepted | refused) == 3 && (accepted & refused) == 0);
	assert(held[0] == 0 && held[1] == 0);
	assert(taken[0] == accepted && taken[1] == accepted)
}
