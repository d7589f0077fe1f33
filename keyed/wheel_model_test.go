package keyed_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/keyed"
)

// modelKeys is the number of keys of the model: few, so that operations collide.
const modelKeys = 5

// model is a wheel and a simple model of it: a map from keys to values and due ticks. Each
// step is between two ticks of the timer, which makes the due pairs unambiguous.
type model struct {
	tb      require.TestingT
	wheel   *keyed.Wheel[int, int]
	fired   *recorder
	timer   *hashedwheel.Timer
	pending map[int]modelPair
	now     int // in ticks
	values  int // number of values so far, all different
	closed  bool
}

type modelPair struct {
	value int
	due   int       // the tick at which it fires
	at    time.Time // its due time
}

// pair returns a pair that was set just now.
func (m *model) pair(value, ticks int) modelPair {
	return modelPair{value, m.now + max(ticks, 0) + 1, time.Now().Add(delay(max(ticks, 0)))}
}

func newModel(t *testing.T, tb require.TestingT, buckets int) *model {
	timer := newTimer(t, buckets)
	w, r := newWheel(t, &mixedTimer{Timer: timer}, keyed.Options[int, int]{DrainWorkers: 3})
	time.Sleep(tick / 2)
	return &model{tb: tb, wheel: w, fired: r, timer: timer, pending: map[int]modelPair{}}
}

// delay returns the delay of ticks as a duration.
func delay(ticks int) time.Duration { return time.Duration(max(ticks, 0))*tick + tick/2 } // to the end of a tick

// refused reports whether the wheel is closed, and checks err accordingly.
func (m *model) refused(err error) bool {
	if m.closed {
		assert.ErrorIs(m.tb, err, keyed.ErrClosed)
		return true
	}
	assert.NoError(m.tb, err)
	return false
}

func (m *model) set(key, ticks int) {
	m.values++
	if !m.refused(m.wheel.Set(key, m.values, delay(ticks))) {
		m.pending[key] = m.pair(m.values, ticks)
	}
}

func (m *model) setIfAbsent(key, ticks int) {
	m.values++
	ok, err := m.wheel.SetIfAbsent(key, m.values, delay(ticks))
	if m.refused(err) {
		return
	}
	_, known := m.pending[key]
	assert.Equal(m.tb, !known, ok, "SetIfAbsent")
	if !known {
		m.pending[key] = m.pair(m.values, ticks)
	}
}

func (m *model) setIfSooner(key, ticks int) {
	m.values++
	ok, err := m.wheel.SetIfSooner(key, m.values, delay(ticks))
	if m.refused(err) {
		return
	}
	p, known := m.pending[key]
	sooner := !known || p.at.After(time.Now().Add(delay(max(ticks, 0))))
	assert.Equal(m.tb, sooner, ok, "SetIfSooner")
	if sooner {
		m.pending[key] = m.pair(m.values, ticks)
	}
}

func (m *model) update(key int) {
	m.values++
	ok := m.wheel.Update(key, func(old int) int {
		assert.Equal(m.tb, m.pending[key].value, old, "Update")
		return m.values
	})
	p, known := m.pending[key]
	assert.Equal(m.tb, known, ok, "Update")
	if known {
		m.pending[key] = modelPair{m.values, p.due, p.at}
	}
}

func (m *model) loadAndDelete(key int) {
	value, ok := m.wheel.GetAndDelete(key)
	p, known := m.pending[key]
	assert.Equal(m.tb, known, ok, "GetAndDelete")
	assert.Equal(m.tb, p.value, value, "GetAndDelete")
	delete(m.pending, key)
}

func (m *model) move(key, ticks int) {
	moved, err := m.wheel.Move(key, delay(ticks))
	if m.refused(err) {
		return
	}
	p, known := m.pending[key]
	assert.Equal(m.tb, known, moved, "Move")
	if known {
		m.pending[key] = m.pair(p.value, ticks)
	}
}

func (m *model) delete(key int) {
	deleted := m.wheel.Delete(key)
	_, known := m.pending[key]
	assert.Equal(m.tb, known, deleted, "Delete")
	delete(m.pending, key)
}

// drain drains the wheel. If again is not 0, it sets every other key again.
func (m *model) drain(again int) {
	var mu sync.Mutex
	var drained []keyed.Entry[int, int]
	err := m.wheel.Drain(func(e keyed.Entry[int, int]) {
		mu.Lock()
		drained = append(drained, e)
		mu.Unlock()
		if again != 0 && e.Key%2 == 0 {
			assert.NoError(m.tb, m.wheel.Set(e.Key, -e.Value, delay(again)))
		}
	})
	if m.refused(err) {
		assert.Empty(m.tb, drained)
		return
	}
	assert.ElementsMatch(m.tb, m.entries(), drained, "Drain")
	for key, p := range maps.Clone(m.pending) {
		delete(m.pending, key)
		if again != 0 && key%2 == 0 {
			m.pending[key] = m.pair(-p.value, again)
		}
	}
}

func (m *model) stop() {
	m.wheel.Close()
	m.closed = true
	clear(m.pending)
}

// pass advances the clock by ticks, and compares the firing pairs of each.
func (m *model) pass(ticks int) {
	for range ticks {
		pass(tick)
		m.now++
		var want, got []int
		for key, p := range m.pending {
			if p.due <= m.now {
				want = append(want, p.value)
				delete(m.pending, key)
			}
		}
		got = m.fired.values()
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(m.tb, want, got, "fired at tick %d", m.now)
	}
}

// entries returns the pending entries.
func (m *model) entries() (entries []keyed.Entry[int, int]) {
	for key, p := range m.pending {
		entries = append(entries, keyed.Entry[int, int]{Key: key, Value: p.value, Due: p.at})
	}
	return entries
}

// compare checks all visible state.
func (m *model) compare() {
	assert.ElementsMatch(m.tb, m.entries(), slices.Collect(m.wheel.All()), "All")
	assert.Equal(m.tb, len(m.pending), m.wheel.Len(), "Len")
	assert.EqualValues(m.tb, len(m.pending), m.timer.Pending(), "timeouts of the timer")
	for key := range modelKeys {
		p, known := m.pending[key]
		value, ok := m.wheel.Get(key)
		assert.Equal(m.tb, known, ok, "Get")
		assert.Equal(m.tb, p.value, value, "Get")
		assert.Equal(m.tb, known, m.wheel.Has(key), "Has")
		due, ok := m.wheel.Due(key)
		assert.Equal(m.tb, known, ok, "Due")
		assert.Equal(m.tb, p.at, due, "Due")
	}
}

// finish fires the remaining pairs.
func (m *model) finish() {
	m.pass(100)
	m.compare()
	m.wheel.Close()
	m.timer.Stop()
}

// noDeadline hides the test's deadline, which is wrong in a bubble.
type noDeadline struct{ testing.TB }

func TestEveryOperationInEveryOrder(t *testing.T) {
	for _, buckets := range []int{1, 4, 8} {
		enginetest.Bubble(t, func(t *testing.T) {
			rapid.Check(noDeadline{t}, func(rt *rapid.T) {
				m := newModel(t, rt, buckets)
				key := rapid.IntRange(0, modelKeys-1)
				ticks := rapid.IntRange(-1, 3*buckets)
				rt.Repeat(map[string]func(*rapid.T){
					"set":           func(rt *rapid.T) { m.set(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"reset":         func(rt *rapid.T) { m.set(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"move":          func(rt *rapid.T) { m.move(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"absent":        func(rt *rapid.T) { m.setIfAbsent(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"update":        func(rt *rapid.T) { m.update(key.Draw(rt, "key")) },
					"loadAndDelete": func(rt *rapid.T) { m.loadAndDelete(key.Draw(rt, "key")) },
					"delete":        func(rt *rapid.T) { m.delete(key.Draw(rt, "key")) },
					"drain":         func(rt *rapid.T) { m.drain(rapid.SampledFrom([]int{0, 1, 5}).Draw(rt, "again")) },
					"pass":          func(rt *rapid.T) { m.pass(rapid.IntRange(0, 2*buckets).Draw(rt, "pass")) },
					"stop": func(rt *rapid.T) {
						if rapid.IntRange(0, 9).Draw(rt, "stop") == 0 {
							m.stop()
						}
					},
					"": func(*rapid.T) { m.compare() },
				})
				m.finish()
			})
		})
	}
}
