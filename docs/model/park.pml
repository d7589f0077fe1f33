/*
 * Parking and waking: Core.phase, rouse, the token in wake, doze and its alarm,
 * starting late, and Stop at any moment. What is in the intake or in the wheel
 * is only counted; a sleep until the next tick always ends.
 *
 * mutation NO_RECHECK: the worker does not look at the intake once it is asleep
 * mutation RECHECK_FIRST: it looks before it publishes that it is asleep
 * mutation LOOK_BEFORE_PUSH: a caller looks at phase before its push
 * mutation ROUSE_BY_STORE: a caller stores ticking without comparing
 * mutation ALARM_BY_STORE: the worker stores ticking when its alarm comes
 * mutation LEAVE_TOKEN: the worker does not take out the token of a caller it met
 * mutation NO_QUIT: Stop does not tell a sleeping worker
 * mutation NO_LATE_START: Stop starts no worker where there was none
 * mutation START_TWICE: a caller starts the worker without comparing
 * mutation NO_ALARM: the worker sleeps for good though the wheel is not empty
 * mutation STOP_BY_STORE: Stop sets phase without seeing what it was
 */
#ifndef STOPPERS
#define STOPPERS 1
#endif
#ifdef FEW
#define EACH	1
#else
#define EACH	2		/* pushes of each of two producers; one more of one who cancels or resets */
#endif
#define PUSHES	(2 * EACH + 1)

mtype = { unstarted, ticking, asleep, stopped };
mtype phase = unstarted;
chan wake = [2] of { bit };	/* room for two, so that a second one is seen */
bool quit, taken, done;
bool mu, closed, wheelGone;
byte intake, wheel;		/* how many wait there */

byte accepted, refused, expired, unprocessed, workers;

inline lock()   { atomic { !mu -> mu = true } }
inline unlock() { mu = false }

/* compare and swap of phase */
inline swap(from, to) {
	atomic {
		if
		:: phase == from -> phase = to; ok = true
		:: else -> ok = false
		fi
	}
}

inline rouse() {
#ifdef ROUSE_BY_STORE
	ok = (phase == asleep);
	if
	:: ok -> phase = ticking
	:: else
	fi;
#else
	swap(asleep, ticking);
#endif
	if
	:: ok -> atomic { assert(len(wake) == 0); wake ! 1 }	/* W3: never blocks */
	:: else ->
#ifdef START_TWICE
		ok = (phase == unstarted);
		if
		:: ok -> phase = ticking
		:: else
		fi;
#else
		swap(unstarted, ticking);
#endif
		if
		:: ok -> run worker()
		:: else
		fi
	fi
}

proctype pusher(byte n) {
	byte i;
	bool ok;
#ifdef LOOK_BEFORE_PUSH
	mtype seen;
#endif
	for (i : 1 .. n) {
#ifdef LOOK_BEFORE_PUSH
		seen = phase;
#endif
		atomic {
			if
			:: closed -> refused++; goto next
			:: else -> intake++; accepted++
			fi
		}
		if
#ifdef LOOK_BEFORE_PUSH
		:: seen != ticking -> rouse()
#else
		:: phase != ticking -> rouse()
#endif
		:: else
		fi;
next:		skip
	}
}

/* takeToken: the other side moved phase, so its token is on the way, or it was Stop. */
inline takeToken() {
#ifdef LEAVE_TOKEN
	if
	:: quit -> goto over
	:: !quit
	fi
#else
	if
	:: wake ? _
	:: quit -> goto over
	fi
#endif
}

proctype worker() {
	bool ok, quiet;
	atomic { workers++; assert(workers == 1) }
	do
	::	/* sleep */
		if
		:: quiet ->				/* and the wheel's next tick is far */
#ifdef RECHECK_FIRST
			if
			:: intake > 0 -> goto soon
			:: else
			fi;
#endif
			swap(ticking, asleep);
			if
			:: !ok -> goto soon
			:: else
			fi;
#if !defined(NO_RECHECK) && !defined(RECHECK_FIRST)
			lock(); ok = (intake == 0); unlock();
			if
			:: ok -> goto doze
			:: else
			fi;
			swap(asleep, ticking);
			if
			:: !ok -> takeToken()
			:: else
			fi;
			goto soon
#endif
		:: goto soon
		fi;
doze:
end_doze:	if
#ifndef NO_ALARM
		:: wheel > 0 ->				/* the alarm */
# ifdef ALARM_BY_STORE
			phase = ticking;
# else
			swap(asleep, ticking);
			if
			:: !ok -> takeToken()
			:: else
			fi;
# endif
			goto tick
#endif
		:: wake ? _
		:: quit -> goto over
		fi;
soon:
		if				/* sleepUntil */
		:: true
		:: quit -> goto over
		fi;
tick:		/* catchUp, prepare */
		lock();
		if
		:: wheelGone || phase == stopped -> unlock(); goto over
		:: else
		fi;
		atomic {
			if			/* expire: all that is due, or nothing yet */
			:: expired = expired + wheel; wheel = 0
			:: true
			fi;
			quiet = (intake == 0);
			wheel = wheel + intake; intake = 0
		}
		unlock()
	od;
over:
	taken;					/* takeLast */
	atomic { workers--; assert(!done); done = true }
}

proctype stopper() {
	mtype was;
	bool ok;
#ifdef STOP_BY_STORE
	was = phase;
	phase = stopped;
#else
	atomic { was = phase; phase = stopped }
#endif
	if
	:: was == stopped -> goto wait
	:: else
	fi;
	closed = true;
#ifndef NO_QUIT
	quit = true;
#endif
	lock();
	atomic {
		unprocessed = unprocessed + intake + wheel;
		intake = 0; wheel = 0; wheelGone = true
	}
	unlock();
	assert(!taken);
	taken = true;
#ifndef NO_LATE_START
	if
	:: was == unstarted -> run worker()
	:: else
	fi;
#endif
wait:	taken;
	done
}

/*
 * When nobody can do anything any more: either Stop has been, and all is
 * accounted for; or the worker sleeps for good, because there is nothing.
 */
active proctype watcher() {
	byte i;
	atomic {
		run pusher(EACH); run pusher(EACH); run pusher(1);
#if STOPPERS > 0
		for (i : 1 .. STOPPERS) { run stopper() }
#endif
	}
	timeout;
	assert(intake == 0 && wheel == 0);
	assert(accepted + refused == PUSHES);
	assert(accepted == expired + unprocessed);
	assert(STOPPERS == 0 || (done && phase == stopped && _nr_pr == 1))
}

/* Without Stop, nothing that was pushed waits for ever. Checked with STOPPERS=0. */
ltl served { [] ((intake > 0) -> <> (intake == 0)) }
