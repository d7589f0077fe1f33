package backend_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// sharing are workers that share a limit as L1 to L5 ask them to, on a clock of the test.
type sharing struct {
	t       *testing.T
	limit   backend.Limit
	permits map[int64]backend.Permit // stored ones
	busy    int64
	now     int64
	from    int64 // of the demands
	workers map[int64]*sharer
	begun   []int64 // times at which handlers began
}

type sharer struct {
	wants, running, held, share int
	tokens                      []backend.Tokens
	unused                      bool // the token before the first, of the same Tokens, was not used
}

// drop takes the first token.
func (w *sharer) drop(unused bool) {
	t := &w.tokens[0]
	t.From += t.Every
	if t.N--; t.N == 0 {
		w.tokens, unused = w.tokens[1:], false
	}
	w.unused = unused
}

func (s *sharing) others(worker int64) (others []backend.Permit) {
	for _, p := range s.permits {
		if p.Worker != worker {
			others = append(others, p)
		}
	}
	return others
}

// call makes the call of Share of a worker. The answer may be lost.
func (s *sharing) call(id int64, lost bool) {
	w := s.workers[id]
	w.held = max(w.running, min(w.held, w.share, w.wants)) // L1: gives back first
	d := backend.Demand{Keep: w.held, Wants: w.wants, Starts: w.wants, From: s.from}
	before, sum := s.permits[id].Held, 0
	mine, busy, grant := d.Decide(&s.limit, id, s.others(id), s.busy, s.now)
	s.permits[id], s.busy = mine, busy
	for _, p := range s.permits {
		sum += p.Held
	}
	if s.limit.Running > 0 {
		if mine.Held > before && mine.Held > d.Keep {
			require.LessOrEqual(s.t, sum, s.limit.Running, "L2")
		}
		if sum > s.limit.Running {
			require.Zero(s.t, grant.Share, "L3")
		}
	}
	if lost {
		return
	}
	w.held, w.share = grant.Held, grant.Share
	if grant.Tokens.N > 0 {
		w.tokens = append(w.tokens, grant.Tokens)
	}
}

// begin begins a handler if the worker may.
func (s *sharing) begin(id int64) {
	w := s.workers[id]
	if w.running >= w.wants || s.limit.Running > 0 && w.running >= min(w.held, w.share) {
		return
	}
	if s.limit.PerSecond > 0 {
		window := int64(s.limit.Window())
		for len(w.tokens) > 0 && w.tokens[0].At(0)+window < s.now {
			w.drop(true)
		}
		if len(w.tokens) == 0 || w.tokens[0].Start(0) > s.now && !w.unused {
			return
		}
		w.drop(false)
	}
	w.running++
	s.begun = append(s.begun, s.now)
}

func (s *sharing) running() (n int) {
	for _, w := range s.workers {
		n += w.running
	}
	return n
}

// checkStarts compares the starts in all windows with the rate.
func (s *sharing) checkStarts() {
	for i, from := range s.begun {
		for j, to := range s.begun[i:] {
			allowed := float64(s.limit.Burst) + s.limit.PerSecond*float64(to-from)/1e9
			require.LessOrEqual(s.t, float64(j+1), allowed+1e-6, "L5: %d starts in %v", j+1, time.Duration(to-from))
		}
	}
}

// balance lets all workers call until nothing changes, and checks the division.
func (s *sharing) balance() {
	s.now = s.now / 5e9 * 5e9
	wanted := 0
	for range 4 {
		for id, w := range s.workers {
			w.running = min(w.running, w.share) // those above end
			s.call(id, false)
		}
	}
	sum, least, most := 0, backend.MaxRunning, 0
	for _, w := range s.workers {
		wanted += w.wants
		sum += w.held
		if most = max(most, w.held); w.held < w.wants {
			least = min(least, w.held)
		}
	}
	require.Equal(s.t, min(wanted, s.limit.Running), sum, "lost permits")
	require.LessOrEqual(s.t, most, max(least, least+1), "fairness")
}

func newSharing(t *testing.T, limit backend.Limit, workers int) *sharing {
	s := &sharing{t: t, limit: limit, now: 1_800_000_000e9, permits: make(map[int64]backend.Permit), workers: make(map[int64]*sharer)}
	for i := range workers {
		s.workers[int64(i+1)] = &sharer{}
	}
	return s
}

// Workers call, begin and end handlers, lose answers, and die, while the limit changes.
func TestSharersKeepTheLimit(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			shareAtRandom(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func shareAtRandom(t *testing.T, rng *rand.Rand) {
	s := newSharing(t, backend.Limit{Running: 1 + rng.IntN(30)}, 1+rng.IntN(6))
	for range 3000 {
		id := 1 + rng.Int64N(int64(len(s.workers)))
		w := s.workers[id]
		before := s.running()
		switch rng.IntN(12) {
		case 0:
			w.wants = w.running + rng.IntN(2*s.limit.Running+1)
		case 1, 2, 3:
			s.call(id, rng.IntN(10) == 0)
		case 4, 5, 6, 7:
			s.begin(id)
		case 8, 9:
			w.running = max(0, w.running-1)
		case 10:
			if rng.IntN(10) == 0 {
				delete(s.permits, id) // L4
				s.workers[id] = &sharer{}
			}
		case 11:
			if rng.IntN(20) == 0 { // each worker learns it before Limit returns
				s.limit.Running = 1 + rng.IntN(2*s.limit.Running)
				for each := range s.workers {
					s.call(each, false)
				}
				for each := range s.workers {
					s.call(each, false)
				}
			}
		}
		if after := s.running(); after > before {
			require.LessOrEqual(t, after, s.limit.Running)
		}
	}
	s.balance()
}

// Workers draw tokens and begin handlers as late as they may.
func TestTokensKeepTheRate(t *testing.T) {
	for i, rate := range []float64{0.001, 0.5, 3, 10, 99.9, 1000, 20_000} {
		for _, burst := range []int{1, 2, 1 + int(rate/5), 300} {
			t.Run(fmt.Sprintf("%g per second, burst %d", rate, burst), func(t *testing.T) {
				drawAtRandom(t, rand.New(rand.NewPCG(uint64(i), uint64(burst))), backend.Limit{PerSecond: rate, Burst: burst})
			})
		}
	}
}

func drawAtRandom(t *testing.T, rng *rand.Rand, limit backend.Limit) {
	s := newSharing(t, limit, 1+rng.IntN(3))
	for n := 0; n < 3000 && len(s.begun) < 500; n++ {
		s.now += rng.Int64N(int64(5e9/limit.PerSecond)/20 + 1)
		id := 1 + rng.Int64N(int64(len(s.workers)))
		w := s.workers[id]
		switch w.running = 0; {
		case rng.IntN(50) == 0:
			s.now += int64(1e9 * 30 / limit.PerSecond) // a pause
		case rng.IntN(8) == 0:
			w.wants = 1 + rng.IntN(100)
			s.from = s.now + rng.Int64N(4)*rng.Int64N(5e8) - 1e9
			s.call(id, rng.IntN(20) == 0)
		default:
			w.wants = 100
			for before := -1; before < w.running; {
				before = w.running
				s.begin(id)
			}
		}
	}
	s.checkStarts()
}

// A limit of fewer permits than workers goes round.
func TestScarcePermitsGoRound(t *testing.T) {
	s := newSharing(t, backend.Limit{Running: 1}, 3)
	had := make(map[int64]bool)
	for range 6 {
		s.now += int64(5 * time.Second)
		for id, w := range s.workers {
			w.wants, w.running = 1, 0
			s.call(id, false)
		}
		for range 2 { // the worker before may call last, and return its permit then
			for id := range s.workers {
				s.call(id, false)
				had[id] = had[id] || s.workers[id].held > 0
			}
		}
	}
	require.Equal(t, map[int64]bool{1: true, 2: true, 3: true}, had)
}

// A worker without competition gets the whole rate.
func TestTokensReachTheRate(t *testing.T) {
	for name, limit := range map[string]backend.Limit{
		"slow": {PerSecond: 2, Burst: 1}, "even": {PerSecond: 100, Burst: 10}, "fast": {PerSecond: 5000, Burst: 500},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSharing(t, limit, 2)
			end := s.now + int64(10*time.Second)
			for ; s.now < end; s.now += int64(backend.ShareEvery) {
				s.workers[1].wants = 10_000
				s.call(1, false)
				s.workers[2].wants = 0
				s.call(2, false)
			}
			drawn := 0.
			for _, tokens := range s.workers[1].tokens {
				drawn += float64(tokens.N)
			}
			require.GreaterOrEqual(t, drawn, 0.96*10*limit.PerSecond)
			require.LessOrEqual(t, drawn, 10.75*limit.PerSecond+float64(limit.Burst))
		})
	}
}

func TestLimitsOutOfRangeAreDamaged(t *testing.T) {
	for name, l := range map[string]backend.Limit{
		"nothing": {}, "negative": {Running: -1}, "many": {Running: backend.MaxRunning + 1}, "burst alone": {Running: 1, Burst: 1},
		"no burst": {PerSecond: 1}, "slow": {PerSecond: 1e-9, Burst: 1}, "fast": {PerSecond: 1e9, Burst: 1},
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := backend.StoredLimit(l)
			require.ErrorIs(t, err, backend.ErrDamaged)
			d := backend.Demand{Wants: 1}
			_, _, grant := d.Decide(&stored, 1, nil, 0, 1)
			require.Equal(t, backend.Grant{Limit: stored}, grant)
		})
	}
	_, err := backend.StoredLimit(backend.Limit{Running: 1, PerSecond: 0.5, Burst: 1})
	require.NoError(t, err)
}

// Handlers that have begun count under a new limit, and after a step of the clock.
func TestBurstIsNotRefunded(t *testing.T) {
	for name, c := range map[string]struct {
		to   backend.Limit
		step time.Duration
	}{
		"higher rate": {backend.Limit{PerSecond: 2, Burst: 100}, 0},
		"lower burst": {backend.Limit{PerSecond: 1, Burst: 10}, 0},
		"clock":       {backend.Limit{PerSecond: 1, Burst: 100}, -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSharing(t, backend.Limit{PerSecond: 1, Burst: 100}, 1)
			w := s.workers[1]
			w.wants = 200
			s.call(1, false)
			require.GreaterOrEqual(t, w.tokens[0].N, 100)
			w.tokens, s.limit, s.now = nil, c.to, s.now+int64(c.step)
			s.call(1, false)
			require.Empty(t, w.tokens)
			s.now += int64(backend.MostAhead + 2*time.Second)
			s.call(1, false)
			require.NotEmpty(t, w.tokens, "the limit lets handlers begin soon")
		})
	}
}
