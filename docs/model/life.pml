/*
 * The life of one timeout: Cancel, Reset and expiry against each other, against
 * the worker's filing, and against Stop. Every access to the life word, to a
 * queue and to phase is a step of its own; what is guarded by Core.mu goes
 * together with the access before it.
 *
 * Time is in ticks. Callers and wheel choose freely: any deadline up to HORIZON,
 * any tick up to the deadline to file at. The task wants to be told when it is
 * cancelled. Queues and parking are in queue.pml and park.pml.
 *
 * mutation CANCEL_BY_STORE: Cancel stores the word without comparing
 * mutation EXPIRE_BY_STORE: expiry stores the word without comparing
 * mutation RESET_BY_STORE: Reset stores the word without comparing
 * mutation RESET_ENDED: Reset does not look whether the life has ended
 * mutation RESET_TELLS_NOBODY: a Reset to earlier does not push
 * mutation PUSH_QUEUED: a Reset to earlier pushes what is in a queue already
 * mutation CANCEL_PUSHES: Cancel pushes what is in a queue already
 * mutation NO_DEQUEUE: the worker does not clear queued
 * mutation DEQUEUE_LATE: it clears queued after it has looked at the word
 * mutation NO_REMOVE: what is settled is not taken out of the wheel
 * mutation NO_DEADLINE: expiry does not look at the deadline
 * mutation FORGET_LATER: what was reset to later is not filed again at its old tick
 * mutation NO_REFILE: what was reset once it was due is not filed again
 * mutation REFILE_LATER: it is filed again after due was let go of, in a second step
 * mutation TICK_AFTER_STOP: a tick is processed though Stop has begun
 * mutation DROP_AFTER_STOP: due is let go of though Stop has begun
 * mutation STOP_SKIPS_DUE: Stop does not look through due
 * mutation STOP_SKIPS_QUEUE: Stop does not look through the queues
 * mutation CLOSE_AFTER_TAKE: Stop looks through the queues before it closes them
 * mutation STOP_TELLS_NOBODY: Stop forgets who cancelled what it found in a queue
 * mutation NO_UNQUEUE: a push that failed does not make good for a Cancel
 * mutation NO_SWEPT: a push that failed takes Stop's end for a Cancel
 * mutation GONE_UNSEEN: a late Cancel leaves the telling to a worker that has gone
 * mutation GONE_LATE: the worker says that it has gone in a second step
 */
#ifndef CALLS
#define CALLS	3		/* of Cancel and Reset, by two callers together */
#endif
#ifndef HORIZON
#define HORIZON	2		/* the latest deadline */
#endif
#define LAST	(HORIZON + 3)	/* the last tick; callers are done by HORIZON */
#define NEVER	255

/* The word: deadline and queued while pending, or how it ended. */
#define EXPIRED		64
#define CANCELLED	65
#define ended(w)	(w >= EXPIRED)
#define queued(w)	(w & 1)
#define deadline(w)	(w >> 1)
#define max(a, b)	(a > b -> a : b)
#define min(a, b)	(a < b -> a : b)

byte life;
byte now;			/* the clock */
bool stopped, quit, taken, done;
bool mu;
bool addedShut, changedShut, inAdded, inChanged;	/* the intake */
bool wheelGone, inWheel;	/* a place in the wheel, for tick filed */
byte filed;
byte tick;			/* the latest processed */
bool swept;			/* the place of what Stop ended */
bool inDue, inTold, inLast, firing, gone;

/* What only the proof knows. */
bool accepted, refused;		/* NewTimeout returned */
byte calls = CALLS;		/* that are left */
byte calling = 2;		/* callers that are not done */
byte runs, cancels, unprocessed, told;

/*
 * Whenever mu is free, a pending timeout that nobody is about to push is where
 * the worker comes in time, or Stop is on its way.
 */
#define kept (!accepted || stopped || ended(life) || queued(life) || inDue || \
	(inWheel && (filed <= deadline(life) || filed <= tick + 1)))

inline lock()   { atomic { !mu -> mu = true } }
inline unlock() { atomic { assert(kept); mu = false } }

/* The deadline of a call: no earlier than the moment of the call. */
inline choose() { atomic { d = now; do :: d < HORIZON -> d++ :: break od } }

/* A push into the queue of changes; ok tells whether it is open. */
inline pushChanged() {
	atomic {
		ok = !changedShut;
		if
		:: ok ->
			assert(!inAdded && !inChanged);	/* L3 */
			inChanged = true
		:: else
		fi
	}
}

/* cancel, of Cancel and of Stop: into w the word before, into ok whether it was pending */
inline end_(count) {
	do
	:: atomic { w = life; ok = !ended(w);
	   if
	   :: !ok -> break
	   :: else
	   fi }
	   atomic {
		if
#ifdef CANCEL_BY_STORE
		:: true ->
#else
		:: life == w ->
#endif
			life = CANCELLED; count++; break
		:: else
		fi
	   }
	od
}

inline tellLast() {
	atomic {
		lock();
#ifdef GONE_UNSEEN
		inLast = true;
#else
		if
		:: gone -> told++		/* on a goroutine of its own */
		:: else -> inLast = true
		fi;
#endif
		unlock()
	}
}

/* dequeue, into w; mu is held, and goes with the step before */
inline dequeue() {
	do
	:: atomic { w = life;
	   if
	   :: ended(w) -> break
	   :: else
	   fi }
	   atomic {
		if
		:: life == w -> w = w - queued(w); life = w; break
		:: else
		fi
	   }
	od
}

/* What a Reset does whose push failed. */
inline unqueue() {
	lock();
	dequeue();
	atomic {
#ifdef NO_SWEPT
		ok = (w != CANCELLED);
#else
		ok = (w != CANCELLED || swept);
#endif
		unlock()
	}
	if
	:: ok
	:: !ok -> tellLast()
	fi
}

inline Cancel() {
	end_(cancels);
	if
#ifdef CANCEL_PUSHES
	:: ok ->
#else
	:: ok && !queued(w) ->
#endif
		pushChanged();
		if
		:: !ok -> tellLast()
		:: else
		fi
	:: else
	fi
}

inline Reset() {
	choose();
	do
	:: atomic { w = life;
	   if
#ifndef RESET_ENDED
	   :: ended(w) -> push = false; break
#endif
	   :: else ->
#ifdef PUSH_QUEUED
		push = (d < deadline(w))
#else
		push = (!queued(w) && d < deadline(w))
#endif
	   fi }
	   atomic {
		if
#ifdef RESET_BY_STORE
		:: true ->
#else
		:: life == w ->
#endif
#ifdef RESET_TELLS_NOBODY
			push = false;
#endif
			life = d << 1 | queued(w) | push; break
		:: else
		fi
	   }
	od;
	if
	:: push ->
		pushChanged();
#ifndef NO_UNQUEUE
		if
		:: !ok -> unqueue()
		:: else
		fi
#endif
	:: else
	fi
}

proctype producer() {
	byte d;
	atomic { choose(); life = d << 1 | 1; d = 0 }
	atomic {
		if
		:: addedShut -> refused = true
		:: else -> inAdded = true; accepted = true
		fi
	}
}

proctype caller(byte who) {
	byte d, w;
	bool ok, push;
	do
	:: atomic { accepted && calls > 0 && (who == 0 || calls < CALLS) -> calls-- }	/* who is first is no matter */
		if
		:: Cancel()
		:: Reset()
		fi;
		atomic { d = 0; w = 0; ok = false; push = false }
	:: atomic { accepted || refused -> calling--; break }
	od
}

/* The wheel may file for any tick from the earliest to the one asked for. */
inline file(earliest) {
	atomic {
		assert(!inWheel && !wheelGone);
		inWheel = true;
		filed = earliest;
		do
		:: filed < deadline(w) -> filed++
		:: break
		od
	}
}

/* settleSome, its first half: into w the word of what has just left a queue */
inline look() {
#ifdef NO_DEQUEUE
	w = life;
#else
# ifdef DEQUEUE_LATE
	atomic { w = life; v = w - (ended(w) -> 0 : queued(w)) }
	dequeue();
	w = v;
# else
	dequeue();
# endif
#endif
}

/* settle: what that word says */
inline settle() {
	atomic {
#ifndef NO_REMOVE
		inWheel = false; filed = 0;
#endif
		if
		:: w == CANCELLED -> assert(!inTold); inTold = true
		:: w == EXPIRED
		:: else -> file(tick)
		fi;
		w = 0
	}
}

/* Core.pop, and what follows it: very much may be left over to the next tick. */
inline transfer() {
	if
	:: atomic { inAdded -> inAdded = false }
	   look();
	   settle()
	:: now <= HORIZON || !inAdded
	fi
}

/* The same for what was changed; a Reset may bring it into the batch twice. */
inline settleChanged() {
	if
	:: atomic { inChanged -> inChanged = false }
	   look();
	   if
	   :: atomic { inChanged -> inChanged = false; first = w; w = 0 }
	      look();
	      atomic { v = w; w = first; first = v; v = 0 }
	      settle();
	      atomic { w = first; first = 0 }
	      settle()
	   :: settle()
	   fi
	:: now <= HORIZON || !inChanged
	fi
}

/* Core.expire: gathers in due. */
inline gather() {
	atomic {
		if
		:: inWheel && filed <= tick ->
			inWheel = false; filed = 0; w = life;
			if
			:: ended(w)
#ifdef NO_DEADLINE
			:: else -> inDue = true
#else
			:: !ended(w) && deadline(w) <= tick -> inDue = true
			:: !ended(w) && deadline(w) > tick ->
# ifndef FORGET_LATER
				file(tick + 1)
# else
				skip
# endif
#endif
			fi
		:: else
		fi;
		w = 0
	}
}

/* Core.run */
inline run_() {
	do
	:: atomic { w = life;
	   if
#ifdef NO_DEADLINE
	   :: ended(w) -> break
#else
	   :: ended(w) || deadline(w) > tick -> break
#endif
	   :: else
	   fi }
	   atomic {
		if
#ifdef EXPIRE_BY_STORE
		:: true ->
#else
		:: life == w ->
#endif
			assert(deadline(life) <= now);	/* never early */
			life = EXPIRED; runs++; break
		:: else
		fi
	   }
	od;
	w = 0
}

inline refile() {
	atomic {
		w = life;
		if
		:: inDue && !ended(w) -> file(tick + 1)
		:: else
		fi;
		w = 0
	}
}

inline endFiring() {
	atomic {
		lock();
		firing = false; inTold = false;
		if
		:: wheelGone -> inDue = false
#ifdef DROP_AFTER_STOP
		:: !wheelGone && stopped -> inDue = false
#else
		:: !wheelGone && stopped		/* due is Stop's */
#endif
		:: !wheelGone && !stopped -> goto again
		fi;
		unlock()
	}
	goto fired;
again:	atomic {
#ifdef REFILE_LATER
		later = inDue; inDue = false; mu = false
	}
	atomic {
		lock();
		inDue = later && !wheelGone; later = false;
#endif
#ifndef NO_REFILE
		refile();
#endif
		inDue = false;
		unlock()
	}
fired:	skip
}

/* The users' code of a tick. */
inline fire() {
	atomic {
		if
		:: inTold -> told++
		:: else
		fi
	}
	if
	:: inDue -> run_()
	:: else
	fi;
	endFiring()
}

proctype worker() {
	byte at, w, v, first;
	bool later;
end_idle:
	do
	:: quit -> break
	:: atomic { now > tick -> at = now }	/* catchUp */
	   atomic {
		lock();
		if
#ifdef TICK_AFTER_STOP
		:: wheelGone ->
#else
		:: wheelGone || stopped ->
#endif
			unlock(); break
		:: else
		fi;
		tick = max((inWheel -> filed : NEVER), (tick + 1));
		tick = min(at, tick);
		at = 0; inDue = false
	   }
	   transfer();
	   settleChanged();
	   atomic {
		gather();
		firing = inTold || inDue;
		unlock();
		if
		:: !firing -> goto next
		:: else
		fi
	   }
	   fire();
next:	   skip
	od;
	do
	:: atomic { taken -> lock();		/* takeLast */
		assert(!inDue);
		inTold = inLast; inLast = false; firing = inTold;
#ifdef GONE_LATE
		unlock()
	   }
	   gone = !firing;
#else
		gone = !firing;
		unlock()
	   }
#endif
	   if
	   :: firing -> atomic { told++; lock(); firing = false; inTold = false; unlock() }
	   :: else -> break
	   fi
	od;
	done = true
}

/* What takeAll does with a timeout that it finds. */
inline take(where) {
	if
	:: where ->
		end_(unprocessed);
		atomic { swept = swept || ok; w = 0; ok = false }
	:: else
	fi
}

/* The same in a queue: the Cancel of one that has ended left the telling to the worker. */
inline takeQueued(where) {
	atomic { here = where; where = false }
	take(here);
	atomic {
#ifndef STOP_TELLS_NOBODY
		if
		:: here && !swept && life == CANCELLED -> inLast = true
		:: else
		fi;
#endif
		here = false
	}
}

inline shutIntake() { addedShut = true; changedShut = true }

proctype stopper() {
	byte w;
	bool ok, here;
	stopped = true;
#ifndef CLOSE_AFTER_TAKE
	shutIntake();
#endif
	quit = true;
	lock();
#ifndef STOP_SKIPS_QUEUE
	takeQueued(inAdded);
	takeQueued(inChanged);
#endif
	take(inWheel);
	atomic { inWheel = false; filed = 0; wheelGone = true }
#ifndef STOP_SKIPS_DUE
	take(inDue);
#endif
	atomic {
		if
		:: !firing -> inDue = false
		:: else
		fi;
		unlock()
	}
#ifdef CLOSE_AFTER_TAKE
	shutIntake();
#endif
	taken = true;
	done
}

/* Time passes as it pleases, and to the end once all calls have returned. */
proctype clock() {
	do
	:: now < HORIZON -> now++
	:: now >= HORIZON && now < LAST && calling == 0 -> now++
	:: now == LAST || taken -> break
	od
}

/*
 * When nobody can do anything any more the timeout has ended in one way, its
 * task was told of a Cancel and of nothing else, and nobody knows it any more.
 */
active proctype watcher() {
	atomic {
		run clock(); run producer(); run caller(0); run caller(1); run worker();
#ifndef NO_STOPPER
		run stopper()
#endif
	}
	timeout;
	assert(accepted != refused && calling == 0);
	assert(runs + cancels + unprocessed == accepted);
	assert(told == cancels);
	assert(!inAdded && !inChanged && !inWheel && !inDue && !inTold && !inLast);
#ifndef NO_STOPPER
	assert(done && _nr_pr == 1)
#endif
}
