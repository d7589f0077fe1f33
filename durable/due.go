package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// The bounds of a look at what is due when. A look costs the server about as much as
// its requests take, so the pauses between looks grow with that.
const (
	lookShards = 8       // of which a look reads messages; the others are taken to be alike
	lookProbes = 32      // requests to all of them together
	lookFirst  = 256     // messages of the first request to a shard
	lookNext   = 8       // messages of each further one
	lookBytes  = 1 << 20 // of the messages of one request, plus the last
	lookWithin = 2 * time.Second
	lookEvery  = 10 * time.Second
	lookShare  = 20 // one part in so many of the time is spent in looking
)

// dueLimits are the ends of the ranges in which timers are counted by how long it is
// until they are due. Before the first are those that are overdue; behind the last is
// one more range.
var dueLimits = []struct {
	name  string
	until time.Duration
}{
	{"overdue", 0},
	{"next second", time.Second},
	{"next minute", time.Minute},
	{"next hour", time.Hour},
	{"next day", 24 * time.Hour},
}

// dueCounts are how many timers are due in each range.
type dueCounts [6]float64

// dueRange returns the range of a timer that is due after left.
func dueRange(left time.Duration) int {
	for i, l := range dueLimits {
		if left < l.until {
			return i
		}
	}
	return len(dueLimits)
}

// dueLook is what a look found.
type dueLook struct {
	counts dueCounts
	known  bool // there was a look
	exact  bool // every timer was read
	read   int  // timers that were read
}

// look counts the timers, handed out or not, by when they are due. It reads all of
// them where they are few, and otherwise some of each stretch of the streams.
func (s *Store) look(ctx context.Context) (dueLook, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var found stretches
	shards := rand.Perm(s.shards)[:min(s.shards, lookShards)]
	seen := 0
	for _, shard := range shards {
		all, err := s.lookAt(ctx, shard, lookProbes/len(shards))
		if err != nil && (seen == 0 || ctx.Err() == nil) {
			return dueLook{}, fmt.Errorf("durable: what is due when: shard %d: %w", shard, err)
		}
		if err != nil {
			break // the time is over; there is something to show
		}
		found = append(found, all...)
		seen++
	}
	out := dueLook{exact: seen == s.shards, known: true}
	for _, st := range found {
		out.add(st, float64(s.shards)/float64(seen))
	}
	return out, nil
}

// lookAt surveys a shard: what was handed out, and what was not.
func (s *Store) lookAt(ctx context.Context, shard, probes int) (stretches, error) {
	leased, err := s.survey(ctx, shard, kindDue, probes) // first, since they are fewer
	if err != nil {
		return nil, err
	}
	pending, err := s.survey(ctx, shard, kindAt, probes)
	return append(leased, pending...), err
}

// add adds a stretch to a look, times a factor: what was not read is taken to be like
// what was.
func (d *dueLook) add(st stretch, factor float64) {
	if st.unread() > 0 {
		d.exact = false
	}
	timers := slices.DeleteFunc(slices.Clone(st.read), func(seen seen) bool { return seen.canary })
	d.read += len(timers)
	each := factor * float64(st.count-int64(len(st.read)-len(timers))) / float64(len(timers))
	for _, t := range timers {
		d.counts[dueRange(t.left)] += each
	}
}

// survey divides the messages of a kind into stretches, and reads some of each. It
// sends no more than probes requests: the first reads from the beginning, and each
// other from the middle of the stretch of which most is unread. The pauses between them
// are as long as they take, since the server counts the rest of the stream for each and
// writes nothing meanwhile.
func (s *Store) survey(ctx context.Context, shard int, kind string, probes int) (stretches, error) {
	start := time.Now()
	first, err := s.probe(ctx, shard, kind, 1, lookFirst)
	if err != nil || first.after == 0 {
		return nil, err
	}
	first.count = first.after
	all := stretches{first}
	if first.unread() == 0 {
		return all, nil
	}
	last, err := s.last(ctx, shard, s.names.all(shard, kind))
	if ctx.Err() != nil || errors.Is(err, errNoMessage) {
		return all, nil // what was read must do
	}
	if err != nil {
		return nil, err
	}
	pause := time.Since(start)
	for range probes - 1 {
		if s.sleep(ctx, pause) != nil {
			break
		}
		i, from := all.middle(last.seq + 1)
		if from == 0 {
			break
		}
		start := time.Now()
		next, err := s.probe(ctx, shard, kind, from, lookNext)
		if ctx.Err() != nil {
			break
		}
		pause = time.Since(start)
		if err != nil {
			return nil, err
		}
		all = all.split(i, next)
	}
	return all, nil
}

// probe reads messages of a kind from a sequence on.
func (s *Store) probe(ctx context.Context, shard int, kind string, from uint64, n int) (stretch, error) {
	body, err := json.Marshal(struct {
		scan
		MaxBytes int `json:"max_bytes"`
	}{scan{from, s.names.all(shard, kind), n}, lookBytes})
	if err != nil {
		return stretch{}, err
	}
	var batch []record
	err = s.insist(ctx, func() error {
		batch, err = s.batch(ctx, s.api+"DIRECT.GET."+s.names.stream(shard), body)
		return err
	})
	out := stretch{from: from}
	if err != nil || len(batch) == 0 {
		return out, err
	}
	more, err := strconv.ParseInt(batch[0].header.Get("Nats-Num-Pending"), 10, 64)
	if err != nil {
		return out, fmt.Errorf("direct get: pending: %w", err)
	}
	out.after = max(more+1, int64(len(batch)))
	now := s.now().UnixNano()
	for _, r := range batch {
		_, v, err := s.version(r)
		if err != nil {
			continue // not a timer
		}
		out.read = append(out.read, seen{r.seq, time.Duration(v.due - now), isCanary(v.token)})
	}
	return out, nil
}
