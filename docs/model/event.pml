/*
 * The lives of one event (internal/engine/event.go): Arm and Cancel against each other,
 * against expiry, against the worker's storing, and against Stop. The event's task may
 * arm it, too. Every access to the state word, to the queue, to the count of pushes, and to
 * phase is a step of its own; an access guarded by Core.mu belongs to the step before it.
 *
 * Time is in ticks. Callers and wheel choose freely: any deadline up to HORIZON, any tick
 * up to the deadline to insert at. Callers also drain the intake, at any moment: one
 * process stands for them all.
 *
 * mutations with -DHORIZON=1
 * mutation PUSH_QUEUED: an Arm pushes an event that a queue holds
 * mutation CANCEL_UNPUSHED: Cancel does not have the worker take the event out of its bucket
 * mutation NO_DEQUEUE: queued is not cleared
 * mutation NO_WAIT: Stop does not wait for pushes under way
 * mutation NO_ORPHAN: a push that fails is forgotten
 * mutation UNARMED_OK: an Arm succeeds whose life another caller has ended
 *
 * mutations with -DNO_STOPPER
 * mutation STAYS_DUE: an event that has expired keeps its place in due
 * mutation NO_REFILE: an event that its task has armed is not stored again
 * mutation NO_DEADLINE: expiry does not look at the deadline
 */
#ifndef CALLS
#define CALLS	3		/* of Arm and Cancel, by the callers and the task together */
#endif
#ifndef HORIZON
#define HORIZON	2		/* the latest deadline */
#endif
#define LAST	(HORIZON + 3)	/* the last tick; callers are done by HORIZON */

/* The word: its deadline while it is pending, or how the latest life ended; and queued. */
#define EXPIRED		64
#define CANCELLED	65
#define UNARMED		66
#define ended		(state >= EXPIRED)
byte state = UNARMED;
bool queued;

byte now, tick;
bool stopped, shut, mu, wheelGone, done;
bool inQueue, orphan;
byte pushes;			/* that were counted and have not come out */
mtype = { nowhere, inWheel, inDue };
mtype place = nowhere;
byte filed;			/* for which tick in the wheel */
bool due, running;

byte calls = CALLS;		/* that are left */
byte calling = 3;		/* callers that are not done; the task is one */

/* What only the proof knows: the fate of each life. */
#define FIRED		1
#define CANCELS		2
#define OVERTAKEN	3
#define STOPS		4
#define UNDONE		5
byte fate[CALLS + 1];
bool armed[CALLS + 1];		/* its Arm returned no error */
byte lives, current, unprocessed;

/* Whenever mu is free: a pending event is where the worker comes in time, and an ended one
   leaves its bucket. */
#define kept (stopped || queued || due || \
	(!ended && place == inWheel && filed > tick && (filed <= state || filed == tick + 1)) || \
	(ended && place != inWheel))

inline lock()   { atomic { !mu -> mu = true } }
inline unlock() { atomic { assert(kept); mu = false } }

/* The push of home.change, if need says so. */
inline push() {
	if
	:: need ->
		atomic {
			if
			:: !shut -> assert(!inQueue); inQueue = true; need = false
			:: else
			fi
		}
		if
		:: need ->		/* adopt */
			atomic {
				lock();
#ifndef NO_ORPHAN
				if
				:: !wheelGone -> orphan = true
				:: else
				fi;
#endif
				pushes--; need = false; mu = false
			}
		:: else
		fi
	:: else
	fi
}

/* Which change of the word needs a push; it is counted first. */
#ifdef PUSH_QUEUED
#define armNeeds	(ended || d < state)
#else
#define armNeeds	(!queued && (ended || d < state))
#endif
#define count()	if :: need -> pushes++ :: else fi
#define uncount()	if :: need -> pushes-- :: else fi

inline Arm() {
	atomic { d = now; do :: d < HORIZON -> d++ :: break od }
	if
	:: stopped -> goto armDone
	:: else
	fi;
armAgain:
	atomic { need = armNeeds; count() }
	atomic {
		if
		:: need != (armNeeds) -> uncount(); goto armAgain
		:: else
		fi;
		if
		:: !ended -> fate[current] = OVERTAKEN
		:: else
		fi;
		lives++; id = lives; current = id; state = d;
		if
		:: need -> queued = true
		:: else
		fi
	}
	push();
	armed[id] = true;
	if
	:: stopped ->
		atomic {
			lock();
			if
			:: !wheelGone
			:: wheelGone && !ended -> state = UNARMED; fate[current] = UNDONE; armed[id] = false
# ifndef UNARMED_OK
			:: wheelGone && state == UNARMED -> armed[id] = false
			:: wheelGone && ended && state != UNARMED
# else
			:: wheelGone && ended
# endif
			fi;
			mu = false
		}
	:: else
	fi;
armDone:
	atomic { id = 0; d = 0; need = false }
}

inline Cancel() {
	skip;
cancelAgain:
	atomic {
		if
		:: ended -> goto cancelDone
		:: else -> need = !queued; count()
		fi
	}
	atomic {
		if
		:: ended || need != !queued -> uncount(); goto cancelAgain
		:: else
		fi;
#ifdef CANCEL_UNPUSHED
		uncount(); need = false;
#else
		queued = true;
#endif
		state = CANCELLED; fate[current] = CANCELS
	}
	push();
cancelDone:
	need = false
}

active [2] proctype caller() {
	byte d, id;
	bool need;
	do
	:: atomic { calls > 0 -> calls-- }
		if
		:: Arm()
		:: Cancel()
		fi
	:: atomic { calling--; break }
	od
}

inline insert(earliest) {
	atomic {
		assert(place != inWheel && !wheelGone);
		place = inWheel; filed = earliest;
		do
		:: !(w >= EXPIRED) && filed < w -> filed++
		:: break
		od
	}
}

/* drainQueue for the event: dequeue, then store. mu is held. */
inline drain(earliest) {
	if
	:: atomic { inQueue -> inQueue = false; pushes--;
#ifdef NO_DEQUEUE
		w = state
#else
		queued = false; w = state
#endif
	   }
	   atomic {
		if
		:: place == inWheel -> place = nowhere; filed = 0
		:: else
		fi;
		if
		:: w >= EXPIRED
		:: w < EXPIRED && place == inDue
		:: w < EXPIRED && place != inDue -> insert(earliest)
		fi;
		w = 0
	   }
	:: now <= HORIZON || !inQueue
	fi
}

/* schedule.collect */
inline gather() {
	atomic {
		if
		:: place == inWheel && filed == tick ->
			place = nowhere; filed = 0; w = state;
			if
			:: w >= EXPIRED
#ifdef NO_DEADLINE
			:: w < EXPIRED -> due = true; place = inDue
#else
			:: w < EXPIRED && w <= tick -> due = true; place = inDue
			:: w < EXPIRED && w > tick -> insert(tick + 1)
#endif
			fi
		:: else
		fi;
		w = 0
	}
}

/* firing.fire, and the task, which may arm its event */
inline fire() {
	atomic {
#ifdef NO_DEADLINE
		if
		:: due && !ended ->
#else
		if
		:: due && !ended && state <= tick ->
#endif
			assert(state <= now);		/* never early */
			state = EXPIRED; fate[current] = FIRED; w = 1
		:: else
		fi
	}
	if
	:: w == 1 ->
		w = 0;
		if
		:: atomic { calls > 0 && now <= HORIZON -> calls-- } Arm()
		:: skip
		fi
	:: else
	fi
}

/* worker.endFiring */
inline endFiring() {
	atomic {
		lock();
		running = false;
		if
		:: wheelGone -> due = false
		:: !wheelGone && stopped		/* due is Stop's */
		:: !wheelGone && !stopped ->
			w = state;
			if
#ifndef NO_REFILE
			:: due && w < EXPIRED -> place = (place == inDue -> nowhere : place); insert(tick + 1)
#endif
#ifdef STAYS_DUE
			:: else
#else
			:: else ->
				if
				:: place == inDue -> place = nowhere
				:: else
				fi
#endif
			fi;
			due = false; w = 0
		fi;
		unlock()
	}
}

active proctype worker() {
	byte d, id, w;
	bool need;
	do
	:: tick < now && !stopped ->
		lock();
		if
		:: stopped || wheelGone -> mu = false
		:: else ->
			atomic { tick++; running = false }
			drain(tick);
			gather();
			running = due;
			unlock();
			if
			:: running -> fire(); endFiring()
			:: else
			fi
		fi
	:: now == LAST && tick == LAST || stopped -> break
	od;
	calling--
}

/* Callers that drain: Core.assist, drainAll. */
active proctype helper() {
	byte w;
	do
	:: atomic { inQueue && !done && !mu -> mu = true }
		if
		:: wheelGone -> mu = false
		:: else -> drain(tick + 1); unlock()
		fi
	:: done || (calling == 0 && !inQueue) -> break
	od
}

active proctype clock() {
	do
	:: atomic { now < LAST && (now < HORIZON || calling <= 1) && (tick == now || stopped) -> now++ }
	:: now == LAST -> break
	od
}

inline end_() {
	atomic {
		if
		:: !ended && unprocessed == 0 ->
			state = CANCELLED; fate[current] = STOPS; unprocessed++
		:: else
		fi
	}
}

#ifndef NO_STOPPER
active proctype stopper() {
	stopped = true;
	shut = true;
	lock();
	do
	:: atomic { inQueue -> inQueue = false; pushes--; orphan = true }
#ifndef NO_WAIT
	:: atomic { !inQueue && pushes > 0 -> mu = false }
		lock()
	:: !inQueue && pushes == 0 -> break
#else
	:: !inQueue -> break
#endif
	od;
	if
	:: orphan -> end_()
	:: else
	fi;
	if
	:: place == inWheel -> end_()
	:: else
	fi;
	if
	:: due -> end_()
	:: else
	fi;
	atomic { wheelGone = true; place = nowhere; mu = false; done = true }
}
#endif

/* Once all is over, each Arm that returned no error has ended in one of four ways. */
active proctype judge() {
	byte i;
	atomic {
		calling == 0 && !mu && (done || !stopped && now == LAST && tick == LAST && !inQueue) ->
		assert(unprocessed <= 1);
#ifndef NO_STOPPER
		if
		:: done -> assert(ended)
		:: else
		fi;
#else
		assert(ended && place == nowhere && !due);
#endif
		if
		:: done || ended ->
			i = 1;
			do
			:: i <= lives ->
				assert(!armed[i] || (fate[i] >= FIRED && fate[i] <= STOPS));
				assert(armed[i] || fate[i] == UNDONE || fate[i] == OVERTAKEN || fate[i] == STOPS || fate[i] == FIRED || fate[i] == CANCELS);
				i++
			:: else -> break
			od
		:: else
		fi
	}
}
