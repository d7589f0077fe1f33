package inspect

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/internal/inspection"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules
//
// A hub reads the timers while a page is open. The first watcher starts two goroutines and
// one per section; the last watcher to leave ends the goroutines. The goroutines publish
// events by topic, and each event replaces the last. Nothing is queued: a slow watcher
// misses events.

const (
	statsEvery = 250 * time.Millisecond
	ringsEvery = time.Second
	scanEvery  = 3 * time.Second
	maxShare   = 20 // scanning takes at most 1/maxShare of the time
)

// The topics, in the order in which a watcher receives them. The topics of the sections
// follow.
const (
	topicHello = iota
	topicStats
	topicRings
	topicWaiting
	topics
)

// topicName returns the name of a topic's events.
func topicName(topic int) string {
	if topic >= topics {
		return "section"
	}
	return [topics]string{"hello", "stats", "rings", "waiting"}[topic]
}

// began is the origin of the uptime that pages receive. It runs while no page is open.
var began = time.Now()

// instance identifies this run of the program. A page uses instance to keep the counts of
// two runs apart.
var instance = rand.Text()

// published is the last event of a topic. All watchers write the same bytes: 500 pages
// that watch 200 timers would otherwise format 150 MB four times per second.
type published struct {
	event   []byte
	version int // 0 before the first event
}

// hub is the state that all watchers share.
type hub struct {
	timers   func() []timer   // Immutable.
	sections []*sectionReader // Immutable.

	mu       sync.Mutex
	watchers int                // Guarded by mu.
	stop     chan struct{}      // ends the goroutines; closed when the last watcher leaves. Guarded by mu.
	cancel   context.CancelFunc // ends the context of the sections, together with stop. Guarded by mu.
	latest   []published        // by topic. Guarded by mu.
	news     chan struct{}      // closed by the next publish. Guarded by mu.

	scanning chan struct{}     // holds an element while a goroutine scans
	rested   [topics]time.Time // when a slow reading has paused for its share. Guarded by scanning.
}

// join adds a watcher. It must call leave.
func (h *hub) join() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers++; h.watchers > 1 {
		return
	}
	h.stop, h.news = make(chan struct{}), make(chan struct{})
	h.latest = make([]published, topics+len(h.sections)) // without the events of earlier watchers
	go h.sample(h.stop)
	go h.scan(h.stop)
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	for _, r := range h.sections {
		go h.follow(ctx, h.stop, r)
	}
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers--; h.watchers == 0 {
		close(h.stop)
		h.cancel()
	}
}

// publish makes value the last event of a topic. It does nothing after stop.
func (h *hub) publish(stop chan struct{}, topic int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		data, _ = json.Marshal(problem(err))
	}
	event := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", topicName(topic), data)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != stop || isDone(stop) {
		return
	}
	h.latest[topic] = published{event, h.latest[topic].version + 1}
	close(h.news)
	h.news = make(chan struct{})
}

// look returns the last event of each topic, and a channel that the next publish closes.
func (h *hub) look() ([]published, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.latest), h.news
}

// read publishes the result of f, which may run user code: Options.DynamicTimers, or
// foreign timers. The page shows a panic or a Goexit of that code until f succeeds.
func (h *hub) read(stop chan struct{}, topic int, f func() any) {
	var value any
	var done sync.WaitGroup
	done.Go(func() { // a Goexit ends this goroutine only
		usercode.Run(func() { value = f() }, func(err error) { value = problem(err) })
	})
	done.Wait()
	h.publish(stop, topic, value)
}

// problem returns the value of an event without data.
func problem(err error) any { return map[string]string{"error": err.Error()} }

// sample publishes the counts until stop.
func (h *hub) sample(stop chan struct{}) {
	titles := make([]string, len(h.sections))
	for i, r := range h.sections {
		titles[i] = r.title
	}
	h.publish(stop, topicHello, map[string]any{"instance": instance, "bounds_ns": bounds, "sections": titles})
	every := time.NewTicker(statsEvery)
	defer every.Stop()
	for !isDone(stop) {
		h.read(stop, topicStats, h.stats)
		select {
		case <-every.C:
		case <-stop:
		}
	}
}

// stats returns the counts of all timers.
func (h *hub) stats() any {
	return map[string]any{"uptime_ns": int64(time.Since(began)), "timers": showAll(h.timers()), "leaks": inspection.Leaks()}
}

// scan publishes the sizes of the buckets and, less often, the pending timeouts, until stop. It
// keeps the share of the time while pages come and go, too.
func (h *hub) scan(stop chan struct{}) {
	select {
	case h.scanning <- struct{}{}:
	case <-stop: // An earlier scan has not ended.
		return
	}
	defer func() { <-h.scanning }()
	next := h.rested
	read := func(topic int, every time.Duration, f func() any) {
		start := time.Now()
		if start.Before(next[topic]) {
			return
		}
		h.read(stop, topic, f)
		end := time.Now()
		h.rested[topic] = end.Add(maxShare * end.Sub(start))
		next[topic] = end.Add(max(every, maxShare*end.Sub(start)))
	}
	for !isDone(stop) {
		read(topicRings, ringsEvery, func() any { return map[string]any{"timers": wheels(h.timers())} })
		read(topicWaiting, scanEvery, func() any { return h.waiting(stop) })
		wait := time.NewTimer(min(time.Until(next[topicRings]), time.Until(next[topicWaiting])))
		select {
		case <-wait.C:
		case <-stop:
			wait.Stop()
		}
	}
}

// waiting scans all pending timeouts, until stop.
func (h *hub) waiting(stop chan struct{}) any {
	all := make(map[string]waiting)
	for _, t := range h.timers() {
		if w, ok := waitingOn(t, stop); ok {
			all[t.name] = w
		}
	}
	return map[string]any{"timers": all}
}
