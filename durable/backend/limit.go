package backend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Limit bounds the handlers of the rows in a scope, in all workers of a store together.
type Limit struct {
	Scope
	Running   int     // concurrent handlers, up to MaxRunning, or 0 for no bound
	PerSecond float64 // handlers that begin per second, from MinPerSecond to MaxPerSecond, or 0 for no bound
	Burst     int     // handlers that begin at once after a pause, 1 to MaxBurst; 0 without PerSecond
}

// The ranges of the fields of a [Limit].
const (
	MaxRunning   = 1_000_000
	MinPerSecond = 1e-6
	MaxPerSecond = 1e6
	MaxBurst     = 1_000_000
)

// StoredLimit returns a limit that was read, or an error that wraps [ErrDamaged] if its fields are out of their
// ranges: no checksum covers them. Its Running and PerSecond are then those of a limit that lets no handler begin.
func StoredLimit(l Limit) (Limit, error) {
	rated := l.PerSecond != 0
	if l.Running >= 0 && l.Running <= MaxRunning && l.Burst >= 0 && l.Burst <= MaxBurst && rated == (l.Burst > 0) &&
		(!rated || l.PerSecond >= MinPerSecond && l.PerSecond <= MaxPerSecond) && (rated || l.Running > 0) {
		return l, nil
	}
	return Limit{Scope: l.Scope, Running: damagedRunning}, fmt.Errorf("%w: limit of prefix %.64q and group %.64q: %d running, %g per second, burst %d",
		ErrDamaged, l.Prefix, l.Group, l.Running, l.PerSecond, l.Burst)
}

// damagedRunning is the Running of a damaged limit.
const damagedRunning = -1

// Version names a state of the limits of a store. Newest grows with each SetLimit, and Count counts limits.
type Version struct{ Newest, Count int64 }

// Limited are the limits of a store.
type Limited struct {
	Version Version
	Limits  []LimitUse // by prefix and group; nil if the version is the known one
	Unaware int        // workers of this release that do not know Newest
}

// LimitUse is a limit, and its use by live workers.
type LimitUse struct {
	Limit
	Held  int // permits
	Wants int // handlers that run, or would run
}

// A worker calls a handler only under a permit, and at the time of a token, of each limit that has the
// row. The ground rules say when the sum of the workers keeps the limit:
//
//	L1. The database never has fewer permits of a worker than the worker has itself. A permit is added
//	    in the database first, and removed in the worker first.
//	L2. A permit is added only while the permits of all live workers are fewer than Limit.Running.
//	L3. While they are more, since the limit was lowered or is new, no worker may begin a handler. A live
//	    worker that does not know the limit counts with MaxRunning permits: its handlers are not counted yet.
//	L4. The permits of a worker end with its lease.
//	L5. Each token has its own time, and no two tokens of a scope begin before the limit allows both.

// Demand is the demand of a worker for a scope.
type Demand struct {
	Scope
	Keep   int   // permits that the worker still uses: it begins no handler above Keep before the Grant
	Wants  int   // handlers that run or could run now
	Starts int   // tokens
	From   int64 // time before which the worker cannot use a token, or 0
}

// Grant is the answer to a [Demand]. Without a limit of the scope, it is zero except for the Scope.
type Grant struct {
	Limit
	Held   int // permits of the worker
	Share  int // of those, the permits under which handlers may begin; the worker gives the others back
	Tokens Tokens
}

// Permit is the part of a live worker in a limit.
type Permit struct {
	Worker      int64
	Held, Wants int
}

// Tokens are permissions to begin N handlers. Each can be used once, from its own time until window later. The tokens at
// Earliest can also be used up to Slack before. If a token is not used, the next one of the same Tokens can be used
// from the time of the unused one.
type Tokens struct {
	From, Every int64 // time of the first one, and from one to the next
	Earliest    int64 // no token has a time before
	Slack       int64 // for tokens at Earliest
	N           int
}

// At returns the time of token i.
func (t *Tokens) At(i int) int64 { return max(t.Earliest, t.From+int64(i)*t.Every) }

// Start returns the time from which token i can be used if the one before is used.
func (t *Tokens) Start(i int) int64 {
	if at := t.At(i); at > t.Earliest {
		return at
	}
	return t.Earliest - t.Slack
}

// ShareEvery is the pause between two calls of Share. A grant has tokens for up to half a pause more, from the time of the demand
// on, and none later than MostAhead.
const (
	ShareEvery = 500 * time.Millisecond
	MostAhead  = time.Duration(2*tokensFor + maxSlack)
	tokensFor  = int64(ShareEvery + ShareEvery/2)
	maxSlack   = int64(time.Second)
)

// turnEvery is the time for which a worker keeps a permit that is left after the division.
const turnEvery = 5 * time.Second

// Decide returns the permit of a worker after its demand, the next free time of the tokens, and the grant.
// others are the permits of other live workers. busy is the next free time before.
func (d *Demand) Decide(l *Limit, worker int64, others []Permit, busy, now int64) (Permit, int64, Grant) {
	mine := sane(Permit{worker, d.Keep, d.Wants})
	others = slices.Clone(others)
	for i := range others {
		others[i] = sane(others[i])
	}
	g := Grant{Limit: *l, Share: MaxRunning}
	if l.Running != 0 {
		free := l.Running - mine.Held
		for _, p := range others {
			free -= p.Held
		}
		g.Share = fairShare(l.Running, mine, others, now)
		if free < 0 {
			g.Share = 0 // L3
		}
		mine.Held += max(0, min(free, g.Share-mine.Held)) // L2
	}
	g.Held = mine.Held
	if l.PerSecond > 0 {
		busy, g.Tokens = l.draw(d, others, busy, now)
	}
	return mine, busy, g
}

// Of returns the permit of a worker, which does not know the limit if unaware is set (L3).
func (p Permit) Of(unaware bool) Permit {
	if unaware {
		p.Held = MaxRunning
	}
	return p
}

// sane returns a permit with numbers in their ranges, of which no checksum covers the stored ones.
func sane(p Permit) Permit {
	return Permit{p.Worker, min(max(0, p.Held), MaxRunning), min(max(0, p.Wants), MaxRunning)}
}

// fairShare returns the share of a worker: each gets its wish, or the same as all others that want
// more. Permits that are left after the division go to these in turn.
func fairShare(running int, mine Permit, others []Permit, now int64) int {
	all := append([]Permit{mine}, others...)
	slices.SortFunc(all, func(a, b Permit) int { return cmp.Compare(a.Wants, b.Wants) })
	left := running
	for i, p := range all {
		if p.Wants > left/(len(all)-i) {
			return shareOfRest(left, mine, all[i:], now)
		}
		if left -= p.Wants; p.Worker == mine.Worker {
			break
		}
	}
	return mine.Wants
}

// shareOfRest returns the share of one of the workers that want more than the same part of the permits left.
func shareOfRest(left int, mine Permit, all []Permit, now int64) int {
	slices.SortFunc(all, func(a, b Permit) int { return cmp.Compare(a.Worker, b.Worker) })
	at := slices.IndexFunc(all, func(p Permit) bool { return p.Worker == mine.Worker })
	turn := (at + int(now/int64(turnEvery)%int64(len(all)))) % len(all)
	share := left / len(all)
	if turn < left%len(all) {
		share++
	}
	return min(share, mine.Wants)
}

// interval returns the time between two tokens, the time by which they may be early after a pause, and the
// window in which each may be used. A window delays handlers by up to its length: without it in the account,
// handlers begin faster for that time. A Burst of 2 or more covers the window, and the last handler of a burst is late by it. With a
// Burst of 1, the interval covers it, which is longer by a thirty-second, or by minWindow.
func (l *Limit) interval() (every, early, window int64) {
	once := l.once()
	early = int64(l.Burst-1) * min(once, math.MaxInt64/4/int64(l.Burst))
	window = min(max(minWindow, once/32), maxWindow)
	if early > 0 {
		window = max(min(window, early, longBurstWindow), min(early, burstWindow))
	}
	every = max(once, (once+window+int64(l.Burst)-1)/int64(l.Burst))
	return every, max(0, early-window), window
}

const (
	minWindow       = int64(10 * time.Millisecond)
	maxWindow       = int64(10 * time.Second)
	burstWindow     = int64(100 * time.Millisecond) // if Burst covers it
	longBurstWindow = int64(time.Second)
)

// once returns the time between two handlers at the rate of the limit.
func (l *Limit) once() int64 { return int64(math.Ceil(1e9 / l.PerSecond)) }

// Lowered returns the next free time of the tokens after a change to another limit. Under a lower rate, the handlers that have
// begun count for longer.
func (l *Limit) Lowered(to Limit, busy, now int64) int64 {
	if to.PerSecond > 0 && to.PerSecond < l.PerSecond && busy > now {
		return now + int64(min(float64(busy-now)*(l.PerSecond/to.PerSecond), 4e18))
	}
	return busy
}

// Window returns the time for which a token may be used.
func (l *Limit) Window() time.Duration {
	_, _, window := l.interval()
	return time.Duration(window)
}

// draw returns tokens for a demand, and the next free time: the end of the interval after them, if no token were
// early. A worker leaves the others their part of the tokens, unless they want less. After a pause, the first tokens have
// slack, since the worker gets the answer later, and then looks for rows and handlers.
func (l *Limit) draw(d *Demand, others []Permit, busy, now int64) (int64, Tokens) {
	every, early, _ := l.interval()
	busy = min(busy, now+early+every+int64(MostAhead)) // beyond: damaged, or the clock was set back, or the limit has changed
	begin := max(now, min(d.From, now+tokensFor))
	from, slack := busy, int64(0)
	if busy <= begin {
		slack = min(l.once()/2, maxSlack)
		from = begin + slack
	}
	t := Tokens{From: from - early, Every: every, Earliest: begin + slack, Slack: slack}
	most := int(tokensFor/every) + l.Burst
	rest, sharing := most, 1
	for _, p := range others {
		if rest -= p.Wants; p.Wants > 0 {
			sharing++
		}
	}
	if until := begin + slack + tokensFor - t.From; until >= 0 {
		t.N = max(0, min(d.Starts, int(until/every)+1, max(rest, most/sharing)+1))
	}
	if t.N == 0 {
		return busy, t
	}
	return from + int64(t.N)*every, t
}
