/*
 * The life of one timeout: Cancel, Reset and expiry against each other, against
 * the worker's storing, and against Stop. Every access to the state word, to a
 * queue and to phase is a step of its own; an access guarded by
 * Core.mu belongs to the step before it.
 *
 * Callers also drain the intake, at any moment, as the worker does in the rounds
 * between its ticks. One process stands for them all.
 *
 * Time is in ticks. Callers and wheel choose freely: any deadline up to HORIZON,
 * any tick up to the deadline to insert at. The task wants notice of a Cancel. Queues
 * and sleeping are in queue.pml and park.pml.
 *
 * mutations with -DCALLS=2
 * mutation CANCEL_BY_STORE: Cancel stores the word without comparing
 * mutation PUSH_QUEUED: a Reset to an earlier time pushes a queued timeout
 * mutation NO_DEQUEUE: queued is not cleared
 * mutation DEQUEUE_LATE: queued is cleared after the look at the word
 * mutation STOP_SKIPS_QUEUE: Stop does not look through the queues
 * mutation NO_UNQUEUE: a failed push gives no notice for a Cancel that relied on it
 * mutation GONE_UNSEEN: a late Cancel leaves the notice to a worker that has gone
 *
 * mutations with -DCALLS=2 -DNO_STOPPER
 * mutation RESET_UNPUSHED: a Reset to an earlier time does not push
 * mutation NO_DEADLINE: expiry does not look at the deadline
 * mutation NO_REMOVE: a drained timeout is not removed from the wheel
 * mutation FORGET_LATER: a timeout that was reset to later is not stored again at its old tick
 * mutation NO_REFILE: a timeout that was reset while due is not stored again
 * mutation ADD_BEHIND: a caller adds for the tick that has expired
 * mutation NOTICE_WHILE_RUNNING: a caller adds its notice to those that are being given
 *
 * mutations with -DCALLS=1
 * mutation TICK_AFTER_STOP: a tick is processed although Stop has begun
 * mutation STOP_SKIPS_DUE: Stop does not look through due
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

byte state;
byte now;			/* the clock */
bool stopped, quit, taken, done;
bool mu;
bool addedShut, changedShut, inAdded, inChanged;	/* the intake */
mtype = { nowhere, inWheel, inDue, endedByStop };	/* endedByStop: Stop ended it */
mtype place = nowhere;
bool wheelGone;
byte filed;			/* for which tick in the wheel */
byte tick;			/* the latest processed */
bool due, notices, nextNotices;	/* whether it is in these lists */
bool running, gone;		/* gone: noticesClosed */

/* What only the proof knows. */
bool accepted, refused;		/* NewTimeout returned */
byte calls = CALLS;		/* that are left */
byte calling = 2;		/* callers that are not done */
byte runs, cancels, unprocessed, noticed;

/*
 * Whenever mu is free, a pending timeout that no caller is about to push is where
 * the worker comes in time, or Stop is on its way.
 */
#define kept (!accepted || stopped || ended(state) || queued(state) || due || \
	(place == inWheel && filed > tick && (filed <= deadline(state) || filed == tick + 1)))

inline lock()   { atomic { !mu -> mu = true } }
inline unlock() { atomic { assert(kept); mu = false } }

/* The deadline of a call: no earlier than the moment of the call. */
inline choose() { atomic { d = now; do :: d < HORIZON -> d++ :: break od } }

/* A push into the queue of changes; ok is set if it is open. */
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

/*
 * A loop that ends in a compare-and-swap is one step: what was read last was there
 * when the word was swapped.
 *
 * cancel, of Cancel and of Stop: into w the word before, into ok whether it was pending
 */
inline end_(count) {
	atomic {
		w = state; ok = !ended(w);
#ifdef CANCEL_BY_STORE
	}
	atomic {
#endif
		if
		:: ok -> state = CANCELLED; count++
		:: else
		fi
	}
}

inline notifyLate() {
	atomic {
		lock();
#ifdef GONE_UNSEEN
		nextNotices = true;
#else
		if
		:: gone -> noticed++		/* on a goroutine of its own */
		:: else -> nextNotices = true
		fi;
#endif
		unlock()
	}
}

/* dequeue, into w; mu is held */
inline dequeue() {
	atomic {
		w = state;
		if
		:: ended(w)
		:: else -> w = w - queued(w); state = w
		fi
	}
}

/* What a Reset does whose push failed. */
inline unqueue() {
	lock();
	dequeue();
	atomic {
		ok = (w != CANCELLED || place == endedByStop);
		unlock()
	}
	if
	:: ok
	:: !ok -> notifyLate()
	fi
}

inline Cancel() {
	end_(cancels);
	if
	:: ok && !queued(w) ->
		pushChanged();
		if
		:: !ok -> notifyLate()
		:: else
		fi
	:: else
	fi
}

inline Reset() {
	choose();
	atomic {
		w = state;
		if
		:: ended(w) -> push = false; goto rearmed
		:: else ->
#ifdef PUSH_QUEUED
			push = (d < deadline(w))
#else
			push = (!queued(w) && d < deadline(w))
#endif
		fi;
#ifdef RESET_UNPUSHED
		push = false;
#endif
		state = d << 1 | queued(w) | push
	}
rearmed:
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
	atomic { choose(); state = d << 1 | 1; d = 0 }
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

/* The wheel may insert for any tick from the earliest to the one asked for. */
inline insert(earliest) {
	atomic {
		assert(place != inWheel && !wheelGone);
		place = inWheel;
		filed = earliest;
		do
		:: filed < deadline(w) -> filed++
		:: break
		od
	}
}

/* drainSome, its first half: into w the word of what has just left a queue */
inline look() {
#ifdef NO_DEQUEUE
	w = state;
#else
# ifdef DEQUEUE_LATE
	atomic { w = state; v = w - (ended(w) -> 0 : queued(w)) }
	dequeue();
	w = v;
# else
	dequeue();
# endif
#endif
}

/* drain: what that word says */
inline store(earliest) {
	atomic {
#ifndef NO_REMOVE
		if
		:: place == inWheel -> place = nowhere; filed = 0
		:: else
		fi;
#endif
		if
		:: w == CANCELLED -> assert(!nextNotices && !notices);
#ifdef NOTICE_WHILE_RUNNING
			notices = running; nextNotices = !running
#else
			nextNotices = true
#endif
		:: w == EXPIRED
		:: !ended(w) && place == inDue	/* it stays there */
		:: !ended(w) && place != inDue -> insert(earliest)
		fi;
		w = 0
	}
}

/* drainAdded: very much may be left over to the next tick. */
inline drainAdded(earliest) {
	if
	:: atomic { inAdded -> inAdded = false }
	   look();
	   store(earliest)
	:: now <= HORIZON || !inAdded
	fi
}

/* The same for what was changed; a Reset may bring it into the batch twice. */
inline drainChanged(earliest) {
	if
	:: atomic { inChanged -> inChanged = false }
	   look();
	   if
	   :: atomic { inChanged -> inChanged = false; first = w; w = 0 }
	      look();
	      atomic { v = w; w = first; first = v; v = 0 }
	      store(earliest);
	      atomic { w = first; first = 0 }
	      store(earliest)
	   :: store(earliest)
	   fi
	:: now <= HORIZON || !inChanged
	fi
}

/* What has come due gets the place inDue. */
inline toDue() {
	due = true;
	place = inDue
}

/* schedule.collect */
inline gather() {
	atomic {
		if
		:: place == inWheel && filed == tick ->
			place = nowhere; filed = 0; w = state;
			if
			:: ended(w)
#ifdef NO_DEADLINE
			:: else -> toDue()
#else
			:: !ended(w) && deadline(w) <= tick -> toDue()
			:: !ended(w) && deadline(w) > tick ->
# ifndef FORGET_LATER
				insert(tick + 1)
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

/* firing.fire */
inline run_() {
	atomic {
		w = state;
		if
#ifdef NO_DEADLINE
		:: ended(w) -> goto ran
#else
		:: ended(w) || deadline(w) > tick -> goto ran
#endif
		:: else
		fi;
		assert(deadline(state) <= now);		/* never early */
		state = EXPIRED; runs++
	}
ran:	w = 0
}

inline reinsert() {
	atomic {
		w = state;
		if
		:: due && !ended(w) -> insert(tick + 1)
		:: else
		fi;
		w = 0
	}
}

inline beginFiring() {
	assert(!notices);
	notices = nextNotices; nextNotices = false; running = (notices || due)
}

inline endFiring() {
	atomic {
		lock();
		running = false; notices = false;
		if
		:: wheelGone -> due = false
		:: !wheelGone && stopped		/* due is Stop's */
		:: !wheelGone && !stopped -> goto again
		fi;
		unlock()
	}
	goto fired;
again:	atomic {
#ifndef NO_REFILE
		reinsert();
#endif
		due = false;
		unlock()
	}
fired:	skip
}

/* The users' code of a tick. */
inline fire() {
	atomic {
		if
		:: notices -> noticed++
		:: else
		fi
	}
	if
	:: due -> run_()
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
	:: atomic { now > tick -> at = now }	/* advance */
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
		assert(!due);				/* F1 */
		tick = max((place == inWheel -> filed : NEVER), (tick + 1));
		tick = min(at, tick);
		at = 0
	   }
	   drainAdded(tick);
	   drainChanged(tick);
	   atomic {
		gather();
		beginFiring();
		unlock();
		if
		:: !running -> goto next
		:: else
		fi
	   }
	   fire();
next:	   skip
	:: atomic { nextNotices ->			/* round: what it drains, helper does */
		lock();
		if
		:: wheelGone || stopped -> unlock(); break
		:: else
		fi;
		beginFiring();
		unlock()
	   }
	   fire()
	od;
	do
	:: atomic { taken -> lock();		/* takeLateNotices */
		assert(!due);
		beginFiring();
		gone = !running;
		unlock()
	   }
	   if
	   :: running -> atomic { noticed++; lock(); running = false; notices = false; unlock() }
	   :: else -> break
	   fi
	od;
	done = true
}

/* Callers who drain for the worker: assist and drainAll; and its own rounds. */
proctype helper() {
	byte w, v, first;
end_idle:
	do
	:: atomic { inAdded || inChanged ->
		lock();
		if
		:: wheelGone -> unlock(); break
		:: else
		fi
	   }
#ifdef ADD_BEHIND
	   drainAdded(tick);
	   drainChanged(tick);
#else
	   drainAdded((tick + 1));
	   drainChanged((tick + 1));
#endif
	   unlock()
	:: taken -> break
	od
}

/* What takeAll does with a timeout that it finds. */
inline take(where) {
	if
	:: where ->
		end_(unprocessed);
		atomic {
			if
			:: ok -> place = endedByStop
			:: else
			fi;
			w = 0; ok = false
		}
	:: else
	fi
}

/* The same in a queue: the Cancel of one that has ended left the telling to the worker. */
inline takeQueued(where) {
	atomic { here = where; where = false }
	take(here);
	atomic {
		if
		:: here && place != endedByStop && state == CANCELLED -> nextNotices = true
		:: else
		fi;
		here = false
	}
}

inline shutIntake() { addedShut = true; changedShut = true }

proctype stopper() {
	byte w;
	bool ok, here;
	stopped = true;
	shutIntake();
	quit = true;
	lock();
#ifndef STOP_SKIPS_QUEUE
	takeQueued(inAdded);
	takeQueued(inChanged);
#endif
	take((place == inWheel));
	atomic {
		if
		:: place == inWheel -> place = nowhere
		:: else
		fi;
		filed = 0; wheelGone = true
	}
#ifndef STOP_SKIPS_DUE
	take(due);
#endif
	atomic {
		if
		:: !running -> due = false
		:: else
		fi;
		unlock()
	}
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
 * When no process can go on, the timeout has ended in one way, its task has had
 * notice of a Cancel and of nothing else, and nothing refers to it.
 */
active proctype watcher() {
	atomic {
		run clock(); run producer(); run caller(0); run caller(1); run worker(); run helper();
#ifndef NO_STOPPER
		run stopper()
#endif
	}
	timeout;
	assert(accepted != refused && calling == 0);
	assert(runs + cancels + unprocessed == accepted);
	assert(noticed == cancels);
	assert(!inAdded && !inChanged && place != inWheel && !due && !notices && !nextNotices);
#ifndef NO_STOPPER
	assert(done && _nr_pr == 1)
#endif
}
