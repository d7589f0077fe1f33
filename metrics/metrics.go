// Package metrics describes the statistics of this module's packages to monitoring
// systems. The modules metrics/hwtprom and metrics/hwtotel export them to Prometheus
// and OpenTelemetry:
//
//	prometheus.MustRegister(hwtprom.New("orders", metrics.Timer(timer)))
//
// To export other statistics the same way, implement [Source].
//
// The functions that return a Source return nil for a nil argument. The exporters
// report a nil Source as an error.
package metrics

import (
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// Kind is the type of a metric.
type Kind int

const (
	Counter   Kind = iota // starts at 0 and only grows
	Gauge                 // goes up and down
	Histogram             // counts of values by size; each count only grows
)

// Desc describes a metric.
type Desc struct {
	// Name is the subject, a dot, and lower-case words joined by underscores:
	// "timer.tasks_failed". It does not contain the unit.
	Name string
	Help string // one sentence without a full stop

	// Unit is "seconds", "bytes", or for counts the thing counted in braces: "{timeout}".
	// An empty unit means "{count}".
	Unit string
	Kind Kind
}

// Value is the value of a metric.
type Value struct {
	Number  float64  // value of a counter or gauge; sum of a histogram
	Buckets []Bucket // buckets of a histogram, by ascending bound
}

// Bucket counts the values of a histogram that are at most its bound and greater
// than the previous bound. The last bound may be positive infinity.
type Bucket struct {
	Bound float64
	Count uint64
}

// Source provides metrics. Its methods must be fast, must not block, and must be safe
// for concurrent use.
type Source interface {
	// Describe returns the metrics. Every call returns the same ones.
	Describe() []Desc

	// Read returns their values, in the same order.
	Read() []Value
}

// metric is one metric of a snapshot S.
type metric[S any] struct {
	Desc
	value func(S) Value
}

// source is a [Source] that reads snapshots.
type source[S any] struct {
	stats   func() S
	metrics []metric[S]
}

// newSource returns the source of measured, or nil if measured is nil.
func newSource[S any](measured interface{ Stats() S }, metrics []metric[S]) Source {
	if check.IsNil(measured) {
		return nil
	}
	return source[S]{measured.Stats, metrics}
}

// Describe implements [Source].
func (s source[S]) Describe() []Desc {
	descs := make([]Desc, len(s.metrics))
	for i, m := range s.metrics {
		descs[i] = m.Desc
	}
	return descs
}

// Read implements [Source].
func (s source[S]) Read() []Value {
	stats, values := s.stats(), make([]Value, len(s.metrics))
	for i, m := range s.metrics {
		values[i] = m.value(stats)
	}
	return values
}

func counter[S any](name, unit, help string, value func(S) int64) metric[S] {
	return metric[S]{Desc{name, help, unit, Counter}, func(s S) Value { return Value{Number: float64(value(s))} }}
}

func gauge[S any](name, unit, help string, value func(S) int64) metric[S] {
	return metric[S]{Desc{name, help, unit, Gauge}, func(s S) Value { return Value{Number: float64(value(s))} }}
}

// seconds returns a gauge of a duration.
func seconds[S any](name, help string, value func(S) time.Duration) metric[S] {
	return metric[S]{Desc{name, help, "seconds", Gauge}, func(s S) Value { return Value{Number: value(s).Seconds()} }}
}
