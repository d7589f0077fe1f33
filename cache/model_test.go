package cache_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// model is a cache and a simple model of it: a slice of entries, the oldest first, with a
// hand for SIEVE. Each step is between two ticks of the timer, which makes the expired
// entries unambiguous.
type model struct {
	rt      *rapid.T
	cache   *cache.Cache[string, int]
	options options
	entries []*modelEntry
	hand    *modelEntry // next entry to examine; nil for the oldest
	values  int         // number of values so far, all different
	want    []end       // the expected calls of OnEvict
	ends    ends
}

type modelEntry struct {
	key      string
	value    int
	deadline time.Time // zero for an entry that does not expire
	idle     time.Time // with Sliding, the time at which it expires unused
	used     bool
}

const modelSliding = 15 * time.Second

func newModel(rt *rapid.T, o options) *model {
	m := &model{rt: rt, options: o}
	o.OnEvict = m.ends.add
	c, err := cache.New(time.Minute, &o)
	require.NoError(rt, err)
	m.cache = c
	time.Sleep(50 * time.Millisecond) // half a tick, in fake time
	return m
}

func (m *model) find(key string) *modelEntry {
	for _, e := range m.entries {
		if e.key == key {
			return e
		}
	}
	return nil
}

// alive reports whether a lookup finds e.
func (m *model) alive(e *modelEntry) bool {
	if e == nil {
		return false
	}
	if m.options.Sliding > 0 && !e.idle.After(time.Now()) {
		return false
	}
	return !m.options.ExactExpiry && m.options.Sliding == 0 || e.deadline.IsZero() || e.deadline.After(time.Now())
}

func (m *model) end(e *modelEntry, reason cache.Reason) {
	i := slices.Index(m.entries, e)
	if m.hand == e {
		m.hand = nil
		if i+1 < len(m.entries) {
			m.hand = m.entries[i+1]
		}
	}
	m.entries = slices.Delete(m.entries, i, i+1)
	m.want = append(m.want, end{e.key, e.value, reason})
}

// endFor is end for an entry that may have expired already.
func (m *model) endFor(e *modelEntry, reason cache.Reason) {
	if !m.alive(e) {
		reason = cache.ReasonExpired
	}
	m.end(e, reason)
}

func (m *model) use(e *modelEntry) {
	e.used = true
	m.postpone(e)
}

// postpone postpones the expiry of e, as coarsely as the cache does.
func (m *model) postpone(e *modelEntry) {
	if m.options.Sliding == 0 {
		return
	}
	bound := func(t time.Time) time.Time {
		if !e.deadline.IsZero() && e.deadline.Before(t) {
			return e.deadline
		}
		return t
	}
	least := time.Now().Add(modelSliding)
	if e.idle.Before(bound(least)) {
		e.idle = bound(least.Add(modelSliding / 1024))
	}
}

func (m *model) store(key string, value int, ttl time.Duration) {
	old := m.find(key)
	if ttl <= 0 {
		if old != nil {
			m.endFor(old, cache.ReasonReplaced)
		}
		return
	}
	deadline := time.Time{}
	if ttl != cache.NoExpiry {
		deadline = time.Now().Add(ttl)
	}
	if old != nil && m.options.Sliding == 0 {
		reason := cache.ReasonReplaced
		if !m.alive(old) {
			reason = cache.ReasonExpired
		}
		m.want = append(m.want, end{key, old.value, reason})
		old.value, old.deadline, old.used = value, deadline, true
		return
	}
	if old != nil { // a Set creates a new entry
		m.endFor(old, cache.ReasonReplaced)
	}
	e := &modelEntry{key: key, value: value, deadline: deadline, idle: time.Now().Add(modelSliding)}
	if !deadline.IsZero() && deadline.Before(e.idle) {
		e.idle = deadline
	}
	m.entries = append(m.entries, e)
	if m.options.Limit > 0 && len(m.entries) > m.options.Limit {
		m.evict(e)
	}
}

func (m *model) evict(keep *modelEntry) {
	i := 0
	if m.hand != nil {
		i = slices.Index(m.entries, m.hand)
	}
	for ; ; i = (i + 1) % len(m.entries) {
		if e := m.entries[i]; e != keep && !e.used {
			m.hand = e
			m.endFor(e, cache.ReasonCapacity)
			return
		}
		if m.entries[i] != keep {
			m.entries[i].used = false
		}
	}
}

func (m *model) set(key string, ttl time.Duration) {
	m.values++
	require.NoError(m.rt, m.cache.SetWithTTL(key, m.values, ttl))
	m.store(key, m.values, ttl)
}

func (m *model) setIfAbsent(key string) {
	m.values++
	ok, err := m.cache.SetIfAbsent(key, m.values)
	require.NoError(m.rt, err)
	require.Equal(m.rt, !m.alive(m.find(key)), ok, "SetIfAbsent")
	if ok {
		m.store(key, m.values, time.Minute)
	}
}

func (m *model) get(key string) {
	value, ok := m.cache.Get(key)
	e := m.find(key)
	require.Equal(m.rt, m.alive(e), ok, "Get")
	if ok {
		require.Equal(m.rt, e.value, value, "Get")
		m.use(e)
	}
}

func (m *model) take(key string) {
	m.values++
	value, err := m.cache.GetOrFetch(context.Background(), key, fetched(m.values))
	require.NoError(m.rt, err)
	if e := m.find(key); m.alive(e) {
		require.Equal(m.rt, e.value, value, "GetOrFetch")
		m.use(e)
		return
	}
	require.Equal(m.rt, m.values, value, "GetOrFetch")
	m.store(key, m.values, time.Minute)
}

func (m *model) touch(key string) {
	e := m.find(key)
	require.Equal(m.rt, m.alive(e), m.cache.Touch(key), "Touch")
	if !m.alive(e) {
		return
	}
	if m.options.Sliding == 0 {
		e.deadline = time.Now().Add(time.Minute)
	}
	m.use(e)
}

func (m *model) delete(key string) {
	e := m.find(key)
	value, ok := m.cache.GetAndDelete(key)
	require.Equal(m.rt, m.alive(e), ok, "GetAndDelete")
	if ok {
		require.Equal(m.rt, e.value, value, "GetAndDelete")
	}
	if e != nil {
		m.endFor(e, cache.ReasonDeleted)
	}
}

// deleteFunc deletes the entries with a later key.
func (m *model) deleteFunc(key string) {
	n := m.cache.DeleteFunc(func(k string, _ int) bool { return k > key })
	for _, e := range slices.Clone(m.entries) {
		if e.key > key && m.alive(e) {
			m.end(e, cache.ReasonDeleted)
			n--
		}
	}
	require.Zero(m.rt, n, "DeleteFunc")
}

func (m *model) clear(reason cache.Reason) {
	for len(m.entries) > 0 {
		m.endFor(m.entries[0], reason)
	}
}

// pass advances the clock and expires due entries.
func (m *model) pass(d time.Duration) {
	pass(d)
	for _, e := range slices.Clone(m.entries) {
		switch {
		case m.options.Sliding > 0 && e.idle.Before(time.Now()),
			m.options.Sliding == 0 && !e.deadline.IsZero() && e.deadline.Before(time.Now()):
			m.end(e, cache.ReasonExpired)
		}
	}
}

// compare checks all visible state.
func (m *model) compare() {
	assert.Equal(m.rt, len(m.entries), m.cache.Len(), "Len")
	alive := map[string]int{}
	for _, e := range m.entries {
		if !m.alive(e) {
			continue
		}
		alive[e.key] = e.value
		left, ok := m.cache.TTL(e.key)
		assert.True(m.rt, ok, "TTL")
		switch {
		case m.options.Sliding > 0:
			assert.Equal(m.rt, time.Until(e.idle), left, "TTL")
		case e.deadline.IsZero():
			assert.Equal(m.rt, cache.NoExpiry, left, "TTL")
		default:
			assert.Equal(m.rt, max(time.Until(e.deadline), 0), left, "TTL")
		}
	}
	assert.Equal(m.rt, alive, maps.Collect(m.cache.All()), "All")
	assert.ElementsMatch(m.rt, m.want, m.ends.take(), "OnEvict")
	m.want = nil
}

func TestEveryOperationInEveryOrder(t *testing.T) {
	for _, o := range []options{
		{}, {ExactExpiry: true}, {Sliding: modelSliding},
		{Limit: 1}, {Limit: 3}, {Limit: 3, ExactExpiry: true}, {Limit: 3, Sliding: modelSliding},
	} {
		enginetest.Bubble(t, func(t *testing.T) {
			rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
				m := newModel(rt, o)
				defer m.cache.Close()
				key := rapid.StringMatching("[a-f]")
				ttl := rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Second, time.Minute, cache.NoExpiry})
				wait := rapid.SampledFrom([]time.Duration{0, time.Second, 9 * time.Second, 20 * time.Second, time.Minute})
				rt.Repeat(map[string]func(*rapid.T){
					"set":        func(rt *rapid.T) { m.set(key.Draw(rt, "key"), ttl.Draw(rt, "ttl")) },
					"absent":     func(rt *rapid.T) { m.setIfAbsent(key.Draw(rt, "key")) },
					"get":        func(rt *rapid.T) { m.get(key.Draw(rt, "key")) },
					"take":       func(rt *rapid.T) { m.take(key.Draw(rt, "key")) },
					"touch":      func(rt *rapid.T) { m.touch(key.Draw(rt, "key")) },
					"delete":     func(rt *rapid.T) { m.delete(key.Draw(rt, "key")) },
					"deleteFunc": func(rt *rapid.T) { m.deleteFunc(key.Draw(rt, "key")) },
					"clear": func(rt *rapid.T) {
						if rapid.IntRange(0, 9).Draw(rt, "clear") == 0 {
							m.cache.Clear()
							m.clear(cache.ReasonDeleted)
						}
					},
					"pass": func(rt *rapid.T) {
						if d := wait.Draw(rt, "pass"); d > 0 {
							m.pass(d + time.Second/2)
						}
					},
					"": func(*rapid.T) { m.compare() },
				})
				m.cache.Close()
				m.clear(cache.ReasonClosed)
				m.compare()
			})
		})
	}
}
