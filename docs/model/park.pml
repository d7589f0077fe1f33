/*
 * Sleeping and waking: signal.phase, the alarm of a sleeping worker, callers who
 * drain their timeouts instead of waking it, the token, relief, starting late,
 * retiring with nothing pending, and Stop at any moment.
 *
 * Time is in ticks. There are two timeouts, each in its own stripe. Deadlines
 * are chosen freely. The clock advances freely up to HORIZON. After that it jumps to
 * the alarm whenever no process can continue.
 *
 * A step is one access to phase, to alarm, to the stripes or to the word of a
 * timeout. Accesses guarded by Core.mu belong to the step before them. A timeout
 * that leaves a queue is drained in the same step: life.pml examines that, and the
 * expiry at a tick, more closely.
 *
 * mutations with -DHORIZON=0 -DCHANGES=1
 * mutation NO_RECHECK: the worker does not check the intake once it is asleep
 * mutation RECHECK_FIRST: the worker looks before it enters asleep
 * mutation RECHECK_HALF: the worker looks at one stripe only
 * mutation NO_ALARM: the worker sets no alarm although the wheel is not empty
 * mutation START_TWICE: a caller starts the worker without comparing
 * mutation NOT_EARLIER: a caller drains its timeout and leaves the alarm as it was
 * mutation NOTICE_WAITS: a caller leaves a notice and does not wake the worker
 * mutation LATER_BLINDLY: a caller sets the alarm later without a look at the intake
 *
 * mutations with -DHORIZON=0
 * mutation QUEUED_UNATTENDED: a Reset of a queued timeout to earlier is not attended to
 * mutation OWN_DEADLINE: a Reset that pushes attends to its own deadline only
 *
 * mutations with -DCHANGES=1 -DHELPS=1
 * mutation NOTICES_UNSEEN: the worker sleeps although callers left it notices
 *
 * mutations with -DCHANGES=0 -DRELIEFS=2
 * mutation RELIEF_AWAKE: relief does not look whether the worker sleeps
 * mutation RELIEVED_GOES_ON: a goroutine that wakes does not look whether another one is the worker
 *
 * mutations with -DCHANGES=0 -DSTOPPERS=1 -DRELIEFS=1
 * mutation WAKE_BY_STORE: a worker that wakes stores ticking without comparing
 * mutation NO_QUIT: Stop leaves a sleeping worker asleep
 *
 * mutations with -DHORIZON=0 -DCHANGES=1 -DRETIRES
 * mutation RETIRE_BLINDLY: the worker retires without a look at the intake
 *
 * mutations with live -DHORIZON=0 -DCHANGES=0
 * mutation NO_STALE: the worker does not drain the timeouts that it found
 */
#ifndef STOPPERS
#define STOPPERS 0		/* calls of Stop */
#endif
#ifndef CHANGES
#define CHANGES 2		/* calls of Cancel and Reset of the first timeout */
#endif
#ifndef HELPS
#define HELPS 0			/* calls of drainAll, or of assist for a late worker */
#endif
#ifndef RELIEFS
#define RELIEFS 0		/* calls of relieve */
#endif
#ifndef HORIZON
#define HORIZON 1
#endif
#define LATEST	3		/* deadline */
#define NEVER	15

#define EXPIRED		1
#define CANCELLED	2
#define UNPROCESSED	3
#define max(a, b)	(a > b -> a : b)
#define min(a, b)	(a < b -> a : b)

mtype = { unstarted, ticking, asleep, stopped };
mtype phase = unstarted;
byte now;			/* the clock */
byte alarm;			/* as callers see it */
byte wakeAt = NEVER;		/* when the sleeper's alarm goes off */
bool token;			/* of the sleeper */
bool halted, quit, taken, gone, done;	/* gone: noticesClosed */
byte workers;

bool mu;			/* guards what follows */
bool sleeping = true, wheelGone, nextNotices;
byte tick, expected = NEVER;
bool complete = true, stale = true, arrived;

bool closed[2];			/* the stripes, in each of which there is one timeout */
bool accepted[2], refused[2];
byte deadline[2], end[2];	/* the word, */
bool queued[2], pushed[2];	/* which says that it is queued before it is in the queue */
byte filed[2];			/* for which tick in the wheel; 0 if it is not there */

bool running;

#define nearest	min((filed[0] == 0 -> NEVER : filed[0]), (filed[1] == 0 -> NEVER : filed[1]))

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

inline choose(d) {
	if
	:: d = 1
	:: d = 2
	:: d = 3
	fi
}

/* drainQueue for one timeout; it is not looked at whether its task wants notice of a Cancel */
inline store(i, earliest) {
	pushed[i] = false; queued[i] = false; arrived = true;
	filed[i] = (end[i] != 0 -> 0 : max(deadline[i], earliest));
	if
	:: end[i] == CANCELLED -> nextNotices = true
	:: true
	fi
}

inline setAlarm(at) {
	expected = at;
	wakeAt = at
}

/* wakeUp: the goroutine becomes the worker */
inline wakeUp() {
	sleeping = false;
	if
	:: phase == asleep -> phase = ticking
	:: else
	fi
}

/* wakeWorker */
inline wake() {
	swap(asleep, ticking);
	if
	:: ok ->
		atomic {
			token = true;	/* or there is one already */
			ok = false
		}
	:: else ->
		if
		:: phase == unstarted -> atomic {
			lock();
#ifdef START_TWICE
			ok = true; phase = ticking;
#else
			swap(unstarted, ticking);
#endif
			if
			:: ok -> workers++; run worker(false); ok = false
			:: else
			fi;
			unlock() }
		:: else
		fi
	fi
}

/* drainForSleeper, with assist and correctAlarm */
inline drainForSleeper(s) {
	atomic {
		if
		:: !mu -> mu = true
		:: enough = false; goto undrained	/* another process holds it */
		fi;
		if
		:: pushed[s] && !wheelGone -> store(s, (tick + 1))
		:: else
		fi;
		enough = !nextNotices;
#ifdef NOTICE_WAITS
		enough = true;
#endif
		if
		:: !pushed[s]
		:: enough = false			/* there is traffic */
		fi;
		if
		:: !enough || wheelGone || phase != asleep -> goto drained
		:: else
		fi;
		ok = true;
# ifdef NOT_EARLIER
		if
		:: nearest < expected -> goto drained
		:: else
		fi;
# endif
		if
		:: nearest > expected -> alarm = nearest
		:: else -> goto found
		fi
	}
	atomic {
		ok = !(pushed[0] || pushed[1]);
# ifdef LATER_BLINDLY
		ok = true;
# endif
found:
		if
		:: ok -> expected = nearest; alarm = expected; setAlarm(expected)
		:: !ok -> alarm = expected
		fi;
drained:	unlock(); ok = false
	}
undrained:
	skip
}

/* attend to a timeout of stripe s, due at d */
inline attend(s) {
	atomic {
		was = phase;
		if
		:: was == ticking -> goto out
		:: was == asleep -> was = ticking
		:: else -> goto doWake
		fi
	}
	atomic {
		if
		:: d >= alarm -> goto out
		:: else -> d = 0
		fi
	}
	drainForSleeper(s);
	atomic {
		if
		:: enough -> goto out
		:: else
		fi
	}
doWake:	skip;
	wake();
out:	atomic { d = 0; ok = false; enough = false; was = ticking }
}

/* NewTimeout */
proctype producer(byte i) {
	byte d;
	bool ok, enough;
	mtype was = ticking;
	atomic {
		choose(d);
		if
		:: closed[i] -> refused[i] = true; goto out
		:: else -> deadline[i] = d; queued[i] = true; pushed[i] = true; accepted[i] = true
		fi
	}
	attend(i)
}

/* Cancel and Reset of the first timeout */
proctype changer() {
	byte d;
	bool ok, enough, push;
	mtype was = ticking;
	atomic {
		accepted[0] || refused[0];
		if
		:: end[0] != 0 || refused[0] -> goto out
		:: end[0] == 0 && accepted[0] ->	/* cancel */
			end[0] = CANCELLED; deadline[0] = 0; push = !queued[0];
		:: end[0] == 0 && accepted[0] ->	/* rearm */
			choose(d);
			ok = (d < deadline[0]); deadline[0] = d;
			if
			:: !ok -> goto out	/* to later */
			:: ok && queued[0] -> push = false;
#ifdef QUEUED_UNATTENDED
				goto out
#endif
			:: ok && !queued[0] -> queued[0] = true; push = true
			fi
		fi;
		ok = false
	}
	if
	:: push ->
		atomic {
			push = false;
			if
			:: closed[0] -> goto out	/* see life.pml */
			:: else -> assert(!pushed[0]); pushed[0] = true
			fi
		}
#ifndef OWN_DEADLINE
		d = (end[0] != 0 -> 0 : deadline[0])	/* drainBy */
#endif
	:: else
	fi;
	attend(0)
}

/* drainAll, and assist where the worker is late */
proctype helper() {
	atomic {
		lock();
		if
		:: pushed[0] && !wheelGone -> store(0, (tick + 1))
		:: true
		fi;
		if
		:: pushed[1] && !wheelGone -> store(1, (tick + 1))
		:: true
		fi;
		unlock()
	}
}

/* relieve, at any time. The thresholds are not modeled. */
proctype reliever() {
	atomic {
		if
		:: mu -> goto out			/* TryLock */
		:: else -> mu = true
		fi;
		if
#ifndef RELIEF_AWAKE
		:: !sleeping -> goto leave
#endif
		:: phase == unstarted -> goto leave
		:: phase == stopped -> goto leave
		:: else
		fi
	}
	atomic {
		wakeUp();
		workers++; run worker(true)
	}
	goto leave;
leave:	unlock();
out:	skip
}

/* drain; from the second timeout on it may be cut short */
inline drain(earliest) {
	complete = true; stale = false; ok = false;
	if
	:: pushed[0] -> store(0, earliest); ok = true
	:: else
	fi;
	if
	:: pushed[1] -> store(1, earliest)
	:: pushed[1] && ok ->
		complete = false
	:: else
	fi;
	ok = false
}

/* collect and firing.run, for one timeout; users' code is run if ok */
inline expire(i) {
	if
	:: filed[i] != 0 && filed[i] <= tick ->
		filed[i] = 0;
		if
		:: end[i] != 0
		:: else ->
			if
			:: deadline[i] > tick -> filed[i] = deadline[i]
			:: else -> end[i] = EXPIRED; deadline[i] = 0; ok = true
			fi
		fi
	:: else
	fi
}

/* whether the timeout waits for the next tick, and is due by the clock */
#define early(i)	(filed[i] == tick + 1 && end[i] == 0 && deadline[i] <= now)

inline expireEarly(i) {
	if
	:: early(i) -> filed[i] = 0; end[i] = EXPIRED; deadline[i] = 0; ok = true
	:: else
	fi
}

/* beginFiring: users' code is run if ok, or if there are notices */
inline beginFiring() {
	running = (ok || nextNotices); nextNotices = false; ok = false; stale = (stale || running)
}

proctype worker(bool relief) {
	bool ok, linger, working = relief;
	mtype rest = asleep;		/* the phase to leave ticking for */
step:	skip;				/* here, and there, an atomic sequence ends */
	atomic {
		lock();
		if
		:: working -> goto works
#ifdef RELIEVED_GOES_ON
		:: !working
#else
		:: !working && !relief && sleeping
		:: !working && !relief && !sleeping && (wheelGone || phase == stopped) -> unlock(); goto over
		:: !working && !relief && !sleeping && !wheelGone && phase != stopped -> unlock(); goto parked
#endif
		fi;
#ifdef WAKE_BY_STORE
	}
	atomic {
		phase = ticking;
#endif
		wakeUp(); working = true;
works:		assert(!running && !sleeping);	/* one worker at a time */
		if
		:: wheelGone || phase == stopped -> unlock(); goto last
		:: else
		fi;
		if
		:: now > tick ->			/* advance */
			tick = min(now, max(nearest, (tick + 1)));
			if
			:: now > tick -> complete = !(pushed[0] || pushed[1])	/* late, and the drain is put off */
			:: drain(tick)
			fi;
			ok = false;
			expire(0); expire(1);
			beginFiring();
			unlock(); goto fire
		:: else
		fi;
		if					/* round */
#ifdef NOTICES_UNSEEN
		:: stale || !complete ->
#else
		:: stale || !complete || nextNotices ->
#endif
			drain((tick + 1));
			beginFiring();
			if
			:: running || !complete -> unlock(); goto fire
			:: else
			fi
		:: else
		fi;
		if					/* collectEarly, or there are many */
		:: early(0) || early(1) ->
			expireEarly(0); expireEarly(1);
			beginFiring();
			unlock(); goto fire
		:: true
		fi;
#ifndef NO_STALE
		stale = true;				/* fallAsleep */
#endif
		if
		:: nearest <= tick + 1 || arrived -> arrived = false;
			sleeping = true; alarm = tick + 1; setAlarm(alarm); goto rests
		:: nearest > tick + 1 || !arrived -> arrived = false	/* few in the next tick */
		fi;
#ifdef RETIRES
		rest = (linger && !relief && nearest == NEVER -> unstarted : asleep); linger = false;
#endif
#ifdef RECHECK_FIRST
		if
		:: pushed[0] || pushed[1] -> unlock(); goto step
		:: else
		fi;
#endif
#ifdef NO_ALARM
		expected = NEVER;
#else
		expected = nearest;
#endif
		setAlarm(expected);
		alarm = nearest
	}
	atomic {
		swap(ticking, rest);
		if
		:: !ok -> unlock(); goto last
		:: else -> ok = false
		fi
	}
#if !defined(NO_RECHECK) && !defined(RECHECK_FIRST)
	atomic {
		ok = pushed[0];
# ifndef RECHECK_HALF
		ok = (ok || pushed[1]);
# endif
# ifdef RETIRE_BLINDLY
		ok = (ok && rest == asleep);
# endif
		if
		:: !ok -> goto drained
		:: else
		fi
	}
	atomic {
		swap(rest, ticking);
		rest = asleep; ok = false; unlock(); goto step
	}
drained:
#endif
	atomic {
		sleeping = true;
rests:		linger = false; working = false;
		if
		:: relief || rest == unstarted -> workers--; unlock(); goto out
		:: else -> unlock()
		fi
	}
parked:
end_parked:
	if
	:: wakeAt <= now -> wakeAt = NEVER
	:: token -> token = false
	:: quit
#ifdef RETIRES
	:: expected == NEVER -> linger = true
	:: expected == NEVER && token -> token = false; linger = true
#endif
	fi;
	goto step;
fire:	skip;
	atomic {
		if
		:: running -> lock(); running = false; unlock()
		:: else
		fi;
		goto step
	}
last:	atomic { taken -> assert(!gone); gone = true }		/* takeLateNotices */
over:	atomic {				/* leave */
		workers--;
		if
		:: workers == 0 && gone -> assert(!done); done = true
		:: else
		fi
	}
out:	skip
}

proctype stopper() {
	atomic {
		if
		:: halted -> goto wait
		:: else -> halted = true
		fi
	}
	phase = stopped;
	closed[0] = true;
	closed[1] = true;
#ifndef NO_QUIT
	quit = true;
#endif
	atomic {				/* takeAll */
		lock();
		if
		:: accepted[0] && end[0] == 0 -> end[0] = UNPROCESSED; deadline[0] = 0
		:: else
		fi;
		if
		:: accepted[1] && end[1] == 0 -> end[1] = UNPROCESSED; deadline[1] = 0
		:: else
		fi;
		pushed[0] = false; pushed[1] = false; filed[0] = 0; filed[1] = 0; wheelGone = true;
		if
		:: sleeping && workers == 0 -> workers++; run worker(false)
		:: else
		fi;
		unlock()
	}
	assert(!taken);
	taken = true;
wait:	taken;
	done
}

proctype clock() {
	do
	:: now < HORIZON -> now++
	:: break
	od
}

/* When no process can go on, the alarm is early enough for all that is pending. */
inline inTime(i) {
	if
	:: filed[i] != 0 -> assert(wakeAt <= filed[i])
	:: else
	fi;
	if
	:: pushed[i] ->
		assert(wakeAt <= max(deadline[i], (tick + 1)));
		assert(phase == ticking || (end[i] == 0 && deadline[i] >= alarm))
	:: else -> assert(!accepted[i] || end[i] != 0 || filed[i] != 0)
	fi
}

active proctype watcher() {
	byte i;
	atomic {
		run clock();
		run producer(0); run producer(1);
		do :: i < CHANGES -> run changer(); i++ :: else -> i = 0; break od;
		do :: i < HELPS -> run helper(); i++ :: else -> i = 0; break od;
		do :: i < RELIEFS -> run reliever(); i++ :: else -> i = 0; break od;
		do :: i < STOPPERS -> run stopper(); i++ :: else -> i = 0; break od
	}
	do
	:: atomic { timeout;
		if
		:: phase == stopped -> break
		:: else
		fi;
		assert(workers == (phase == unstarted -> 0 : 1) && sleeping && !mu && !running);
		inTime(0); inTime(1);
		assert(wakeAt == expected && alarm == expected);
		assert(phase == unstarted || phase == (expected == tick + 1 && phase == ticking -> ticking : asleep));
		assert(phase == ticking || !nextNotices);
		if
		:: expected == NEVER -> break
		:: else -> now = expected; i++
		fi;
		assert(i <= 5) }			/* idle, it sleeps for good */
	od;
	assert(!pushed[0] && !pushed[1] && filed[0] == 0 && filed[1] == 0);
	assert(accepted[0] == (end[0] != 0) && accepted[1] == (end[1] != 0));
	assert(STOPPERS == 0 || (done && phase == stopped && _nr_pr == 1))
}

/* Without Stop, nothing that was pushed waits forever. */
ltl served { [] ((pushed[0] || pushed[1]) -> <> (!pushed[0] && !pushed[1])) }
