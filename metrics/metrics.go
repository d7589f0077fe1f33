// Package metrics describes the counts of this module's packages for monitoring
// systems. Modules metrics/hwtprom and metrics/hwtotel export them to Prometheus
// and OpenTelemetry:
//
//	prometheus.MustRegister(hwtprom.New("orders", metrics.Timer(timer)))
//
// Whatever else has counts can be exported with them: it implements [Source].
package metrics

import "time"

// Kind is what the values of a metric mean.
type Kind int

const (
	Counter   Kind = iota // only grows, from 0
	Gauge                 // goes up and down
	Histogram             // counts by size, each of which only grows
)

// Desc describes a metric.
type Desc struct {
	// Name consists of words in lower case, joined by underscores, after the name of
	// what is measured and a dot: "timer.tasks_failed". It does not name the unit.
	Name string
	Help string // one sentence, without a full stop
	Unit string // "seconds", "bytes", or "" for counts
	Kind Kind
}

// Value is the value of a metric.
type Value struct {
	Number  float64  // of a counter or gauge; the sum of a histogram
	Buckets []Bucket // of a histogram, by their bounds
}

// Bucket is how many values of a histogram were no more than its bound and more than
// the bound before. The last bound may be positive infinity.
type Bucket struct {
	Bound float64
	Count uint64
}

// Source has metrics. Its methods must be safe for concurrent use, fast, and must not
// block.
type Source interface {
	// Describe returns the metrics, always the same ones.
	Describe() []Desc

	// Read returns their values, in the same order.
	Read() []Value
}

// metric is one metric of a snapshot S.
type metric[S any] struct {
	Desc
	value func(S) Value
}

// source is a Source of snapshots.
type source[S any] struct {
	stats   func() S
	metrics []metric[S]
}

// Describe implements Source.
func (s source[S]) Describe() []Desc {
	descs := make([]Desc, len(s.metrics))
	for i, m := range s.metrics {
		descs[i] = m.Desc
	}
	return descs
}

// Read implements Source.
func (s source[S]) Read() []Value {
	stats, values := s.stats(), make([]Value, len(s.metrics))
	for i, m := range s.metrics {
		values[i] = m.value(stats)
	}
	return values
}

func counter[S any](name, help string, value func(S) int64) metric[S] {
	return metric[S]{Desc{name, help, "", Counter}, func(s S) Value { return Value{Number: float64(value(s))} }}
}

func gauge[S any](name, help string, value func(S) int64) metric[S] {
	return metric[S]{Desc{name, help, "", Gauge}, func(s S) Value { return Value{Number: float64(value(s))} }}
}

// seconds is a gauge of a duration.
func seconds[S any](name, help string, value func(S) time.Duration) metric[S] {
	return metric[S]{Desc{name, help, "seconds", Gauge}, func(s S) Value { return Value{Number: value(s).Seconds()} }}
}
