/*
 * Parking and waking: Core.phase, rouse, the token in wake, doze and its alarm,
 * starting late, and Stop at any moment. What is in the intake or in the wheel
 * is only counted; a sleep until the next tick always ends.
 *
 * The intake is two stripes, read, drained and closed one by one. A drain takes
 * something if it finds anything, and may leave the rest over; and it may take
 * so long that the next tick is one without a drain.
 *
 * mutation NO_RECHECK: the worker does not look at the intake once it is asleep
 * mutation RECHECK_FIRST: it looks before it publishes that it is asleep
 * mutation RECHECK_HALF: it looks at one stripe only
 * mutation SKIP_STAYS_QUIET: a tick without a drain leaves quiet as it was
 * mutation SKIP_NO_RECHECK: after such a tick the worker sleeps without looking
 * mutation SKIP_FOR_EVER: a tick without a drain puts off the next one's, too
 * mutation LEAVE_QUIETLY: a drain that leaves something over counts as quiet
 * mutation DRAIN_HALF: a drain visits one stripe only
 * mutation CLOSE_HALF: Stop closes one stripe only
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
#ifndef FIRST
#define FIRST	2		/* pushes of a producer, */
#endif
#ifndef SECOND
#define SECOND	1		/* and of another; there is one more of one who cancels or resets */
#endif
#define PUSHES	(FIRST + SECOND + 1)

mtype = { unstarted, ticking, asleep, stopped };
mtype phase = unstarted;
chan wake = [2] of { bit };	/* room for two, so that a second one is seen */
bool quit, taken, done;
bool mu, wheelGone;
bool closed[2];
byte intake[2], wheel;		/* how many wait there */

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
	bool ok, s;
#ifdef LOOK_BEFORE_PUSH
	mtype seen;
#endif
	for (i : 1 .. n) {
#ifdef LOOK_BEFORE_PUSH
		seen = phase;
#endif
		atomic {
			if			/* its address, which may be any, makes the stripe */
			:: s = 0
			:: s = 1
			fi;
			if
			:: closed[s] -> refused++; s = 0; goto next
			:: else -> intake[s]++; accepted++; s = 0
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

inline beginDrain() {
	atomic {
#ifdef SKIP_NO_RECHECK
		skipped = false;
#endif
		quiet = true; idle = true;
		if
		:: scarce = true
		:: scarce = false
		fi
	}
}

/* transfer and settleChanged at one stripe, either of which the cap, or the end of the tick, may stop */
inline visit(s) {
	atomic {
		if
		:: intake[s] > 0 ->
			idle = false;
#ifdef LEAVE_QUIETLY
			quiet = scarce;
#else
			quiet = false;
#endif
			if
			:: scarce && tired
			:: scarce && !tired -> intake[s]--; wheel++; tired = true
			:: !scarce -> wheel = wheel + intake[s]; intake[s] = 0
			fi
		:: else
		fi
	}
}

proctype worker() {
	bool ok, quiet;
	bool late;				/* the latest drain took long: now < drainFrom */
	bool scarce, tired;			/* a drain takes one only; it has */
#ifdef SKIP_NO_RECHECK
	bool skipped;
#endif
	bool idle;				/* for the proof: the latest tick visited every stripe and found nothing */
	atomic { workers++; assert(workers == 1) }
	do
	::	/* sleep */
		if
		:: quiet ->				/* and the wheel's next tick is far */
#ifdef RECHECK_FIRST
			if
			:: intake[0] + intake[1] > 0 -> goto soon
			:: else
			fi;
#endif
#ifndef SKIP_NO_RECHECK
			assert(idle);			/* or callers would rouse it tick by tick */
#endif
			swap(ticking, asleep);
			if
			:: !ok -> goto soon
			:: else
			fi;
#if !defined(NO_RECHECK) && !defined(RECHECK_FIRST)
# ifdef SKIP_NO_RECHECK
			if
			:: skipped -> goto doze
			:: else
			fi;
# endif
			lock();			/* intakeEmpty */
			ok = (intake[0] == 0);
# ifndef RECHECK_HALF
			ok = (ok && intake[1] == 0);
# endif
			unlock();
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
		if			/* drain */
		:: late ->
#if !defined(SKIP_STAYS_QUIET) && !defined(SKIP_NO_RECHECK)
			quiet = false;
#endif
#ifdef SKIP_NO_RECHECK
			skipped = true;
#endif
#ifndef SKIP_FOR_EVER
			late = false;
#endif
			idle = false
		:: else ->
			if		/* each comes first in its turn */
			:: beginDrain(); visit(0);
#ifndef DRAIN_HALF
			   visit(1)
			:: beginDrain(); visit(1); visit(0)
#endif
			fi;
			atomic {
				scarce = false; tired = false;
				if
				:: late = true
				:: late = false
				fi
			}
		fi;
		atomic {
			if			/* expire: all that is due, or nothing yet */
			:: expired = expired + wheel; wheel = 0
			:: true
			fi;
			unlock()
		}
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
	closed[0] = true;
#ifndef CLOSE_HALF
	closed[1] = true;
#endif
#ifndef NO_QUIT
	quit = true;
#endif
	lock();
	atomic {
		unprocessed = unprocessed + intake[0] + intake[1] + wheel;
		intake[0] = 0; intake[1] = 0; wheel = 0; wheelGone = true
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
		run pusher(FIRST); run pusher(SECOND); run pusher(1);
#if STOPPERS > 0
		for (i : 1 .. STOPPERS) { run stopper() }
#endif
	}
	timeout;
	assert(intake[0] == 0 && intake[1] == 0 && wheel == 0);
	assert(accepted + refused == PUSHES);
	assert(accepted == expired + unprocessed);
	assert(STOPPERS == 0 || (done && phase == stopped && _nr_pr == 1))
}

/* Without Stop, nothing that was pushed waits for ever. Checked with STOPPERS=0. */
ltl served { [] ((intake[0] + intake[1] > 0) -> <> (intake[0] + intake[1] == 0)) }
