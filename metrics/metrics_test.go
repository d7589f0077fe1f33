package metrics_test

import (
	"math"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/leak"
	"github.com/hashedwheel/hwt/metrics"
)

// fixed is a source with constant statistics.
type fixed[S any] struct{ stats S }

func (f fixed[S]) Stats() S { return f.stats }
func (f fixed[S]) Len() int { return 7 }

// The packages implement the arguments.
var (
	_ = func(t *hashedwheel.Timer) metrics.Source { return metrics.Timer(t) }
	_ = func(w *keyed.Wheel[string, int]) metrics.Source { return metrics.Keyed(w) }
	_ = func(c *cache.Cache[string, int]) metrics.Source { return metrics.Cache(c) }
	_ = func(r *idle.Reaper) metrics.Source { return metrics.Idle(r) }
	_ = func(c *clock.Clock) metrics.Source { return metrics.Clock(c) }
	_ = func(d *leak.Detector[int]) metrics.Source { return metrics.Leak(d) }
)

// everyField checks that each field of S changes a value of the source.
func everyField[S any](t *testing.T, open func(fixed[S]) metrics.Source) {
	t.Helper()
	nothing := open(fixed[S]{}).Read()
	var zero S
	for i := range reflect.TypeOf(zero).NumField() {
		f := fixed[S]{}
		field := reflect.ValueOf(&f.stats).Elem().Field(i)
		name := reflect.TypeOf(zero).Name() + "." + reflect.TypeOf(zero).Field(i).Name
		if field.Kind() == reflect.String {
			continue // a name, such as that of the slowest task
		}
		if !fill(field) {
			t.Errorf("%s: unknown kind; extend this test", name)
			continue
		}
		assert.NotEqual(t, nothing, open(f).Read(), name)
	}
	describes(t, open(fixed[S]{}))
}

// fill gives a field a value other than zero.
func fill(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.Int, reflect.Int64:
		field.SetInt(int64(3 * time.Second))
	case reflect.Struct:
		field.Set(reflect.ValueOf(hwt.Histogram{Sum: time.Second}))
	default:
		return false
	}
	return true
}

var wellNamed = regexp.MustCompile(`^[a-z]+\.[a-z]+(_[a-z]+)*$`)

// describes checks the descriptions of s.
func describes(t *testing.T, s metrics.Source) {
	t.Helper()
	names := make(map[string]bool)
	for _, d := range s.Describe() {
		assert.Regexp(t, wellNamed, d.Name)
		assert.Regexp(t, `^[A-Z].*[^.]$`, d.Help, d.Name)
		assert.False(t, names[d.Name], d.Name)
		names[d.Name] = true
	}
	assert.Len(t, s.Read(), len(names))
}

func TestEveryCountIsAMetric(t *testing.T) {
	everyField(t, func(f fixed[hwt.Stats]) metrics.Source { return metrics.Timer(f) })
	everyField(t, func(f fixed[keyed.Stats]) metrics.Source { return metrics.Keyed(f) })
	everyField(t, func(f fixed[cache.Stats]) metrics.Source { return metrics.Cache(f) })
	everyField(t, func(f fixed[idle.Stats]) metrics.Source { return metrics.Idle(f) })
	everyField(t, func(f fixed[clock.Stats]) metrics.Source { return metrics.Clock(f) })
	everyField(t, func(f fixed[leak.Stats]) metrics.Source { return metrics.Leak(f) })
}

func TestNilHasNoSource(t *testing.T) {
	assert.Nil(t, metrics.Timer(nil))
	assert.Nil(t, metrics.Timer((*hashedwheel.Timer)(nil)))
	assert.Nil(t, metrics.Keyed((*keyed.Wheel[string, int])(nil)))
	assert.Nil(t, metrics.Cache((*cache.Cache[string, int])(nil)))
	assert.Nil(t, metrics.Idle((*idle.Reaper)(nil)))
	assert.Nil(t, metrics.Clock((*clock.Clock)(nil)))
	assert.Nil(t, metrics.Leak((*leak.Detector[int])(nil)))
}

func TestBoundsOfLatenessGrow(t *testing.T) {
	stats := hwt.Stats{}
	for i := range stats.Lateness.Counts {
		stats.Lateness.Counts[i] = int64(i)
	}
	s := metrics.Timer(fixed[hwt.Stats]{stats})
	for i, d := range s.Describe() {
		if d.Kind == metrics.Histogram {
			buckets := s.Read()[i].Buckets
			for j, b := range buckets {
				assert.EqualValues(t, j, b.Count)
				assert.True(t, j == 0 || b.Bound > buckets[j-1].Bound)
			}
			assert.Equal(t, math.Inf(1), buckets[len(buckets)-1].Bound)
		}
	}
}

func TestDurationsAreSeconds(t *testing.T) {
	s := metrics.Timer(fixed[hwt.Stats]{hwt.Stats{MaxLag: 1500 * time.Millisecond}})
	for i, d := range s.Describe() {
		if d.Name == "timer.max_lag" {
			assert.Equal(t, "seconds", d.Unit)
			assert.Equal(t, 1.5, s.Read()[i].Number)
			return
		}
	}
	t.Fatal("there is no timer.max_lag")
}
