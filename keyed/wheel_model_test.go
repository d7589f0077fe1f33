package keyed_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/timertest"
	"github.com/hashedwheel/hwt/keyed"
)

// modelKeys is how many keys the model plays with: few, so that they meet.
const modelKeys = 5

// model is a wheel beside the simplest thing that behaves like it: a map from
// keys to values and due ticks. Every step is taken between two ticks of the
// timer, so that it is certain what has come due.
type model struct {
	tb      require.TestingT
	wheel   *keyed.Wheel[int, int]
	fired   *recorder
	timer   *hashedwheel.Timer
	pending map[int]modelPair
	now     int // in ticks
	values  int // given so far, so that each is another
	closed  bool
}

type modelPair struct {
	value int
	due   int // the tick at which it fires
}

func newModel(t *testing.T, tb require.TestingT, buckets int) *model {
	timer := newTimer(t, buckets)
	w, r := newWheel(t, timer, keyed.WithDrainWorkers(3))
	time.Sleep(tick / 2)
	return &model{tb: tb, wheel: w, fired: r, timer: timer, pending: map[int]modelPair{}}
}

// due returns the tick at which a delay of so many ticks ends.
func (m *model) due(ticks int) int { return m.now + max(ticks, 0) + 1 }

// delay returns a delay that ends between the ticks in which due says so.
func delay(ticks int) time.Duration { return time.Duration(ticks) * tick }

// refused tells whether err is what a stopped wheel has to say.
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
	if !m.refused(m.wheel.SetTimer(key, m.values, delay(ticks))) {
		m.pending[key] = modelPair{m.values, m.due(ticks)}
	}
}

func (m *model) move(key, ticks int) {
	moved, err := m.wheel.Move(key, delay(ticks))
	if m.refused(err) {
		return
	}
	p, known := m.pending[key]
	assert.Equal(m.tb, known, moved, "Move")
	if known {
		m.pending[key] = modelPair{p.value, m.due(ticks)}
	}
}

func (m *model) remove(key int) {
	removed, err := m.wheel.Remove(key)
	if m.refused(err) {
		return
	}
	_, known := m.pending[key]
	assert.Equal(m.tb, known, removed, "Remove")
	delete(m.pending, key)
}

// drain drains, and sets every other drained key anew if again is not 0.
func (m *model) drain(again int) {
	drained := new(recorder)
	err := m.wheel.Drain(func(key, value int) {
		drained.fire(key, value)
		if again != 0 && key%2 == 0 {
			assert.NoError(m.tb, m.wheel.SetTimer(key, -value, delay(again)))
		}
	})
	if m.refused(err) {
		assert.Empty(m.tb, drained.take())
		return
	}
	got := map[int]int{}
	for _, e := range drained.take() {
		assert.NotContains(m.tb, got, e.key, "drained twice")
		got[e.key] = e.value
	}
	assert.Equal(m.tb, m.plain(), got, "Drain")
	for key, p := range maps.Clone(m.pending) {
		delete(m.pending, key)
		if again != 0 && key%2 == 0 {
			m.pending[key] = modelPair{-p.value, m.due(again)}
		}
	}
}

func (m *model) stop() {
	m.wheel.Stop()
	m.closed = true
	clear(m.pending)
}

// pass lets so many ticks go by, and compares what fires at each.
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

// plain returns the pending values by key.
func (m *model) plain() map[int]int {
	values := map[int]int{}
	for key, p := range m.pending {
		values[key] = p.value
	}
	return values
}

// compare checks all that can be seen from outside.
func (m *model) compare() {
	assert.Equal(m.tb, m.plain(), maps.Collect(m.wheel.All()), "All")
	assert.Equal(m.tb, len(m.pending), m.wheel.Len(), "Len")
	assert.EqualValues(m.tb, len(m.pending), m.timer.Pending(), "timeouts of the timer")
	for key := range modelKeys {
		p, known := m.pending[key]
		value, ok := m.wheel.Get(key)
		assert.Equal(m.tb, known, ok, "Get")
		assert.Equal(m.tb, p.value, value, "Get")
		assert.Equal(m.tb, known, m.wheel.Has(key), "Has")
	}
}

// finish lets everything fire that is left.
func (m *model) finish() {
	m.pass(100)
	m.compare()
	m.wheel.Stop()
	m.timer.Stop()
}

// noDeadline hides the test's deadline, which means nothing in a bubble.
type noDeadline struct{ testing.TB }

func TestEveryOperationInEveryOrder(t *testing.T) {
	for _, buckets := range []int{1, 4, 8} {
		timertest.Bubble(t, func(t *testing.T) {
			rapid.Check(noDeadline{t}, func(rt *rapid.T) {
				m := newModel(t, rt, buckets)
				key := rapid.IntRange(0, modelKeys-1)
				ticks := rapid.IntRange(-1, 3*buckets)
				rt.Repeat(map[string]func(*rapid.T){
					"set":    func(rt *rapid.T) { m.set(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"reset":  func(rt *rapid.T) { m.set(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"move":   func(rt *rapid.T) { m.move(key.Draw(rt, "key"), ticks.Draw(rt, "ticks")) },
					"remove": func(rt *rapid.T) { m.remove(key.Draw(rt, "key")) },
					"drain":  func(rt *rapid.T) { m.drain(rapid.SampledFrom([]int{0, 1, 5}).Draw(rt, "again")) },
					"pass":   func(rt *rapid.T) { m.pass(rapid.IntRange(0, 2*buckets).Draw(rt, "pass")) },
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
