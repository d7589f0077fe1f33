package observe

import (
	"context"
	"math"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/metrics"
)

// Metrics returns a store's numbers for modules metrics/hwtprom and metrics/hwtotel:
//
//	prometheus.MustRegister(hwtprom.New("orders", observe.Metrics(store)))
//
// Reading them waits for the database for up to two seconds. While the database does not answer,
// the sizes are those of the last reading. Metrics returns nil for a nil store.
func Metrics(store *durable.Store) metrics.Source {
	if store == nil {
		return nil
	}
	return storeMetrics{store}
}

// KindMetrics returns the numbers of one kind of a [durable.Mux], by its pattern:
//
//	prometheus.MustRegister(hwtprom.New("orders mail", observe.KindMetrics(store, "mail/")))
//
// They have the names of the same numbers in [Metrics]. They are 0 before the kind has worked.
// KindMetrics returns nil for a nil store.
func KindMetrics(store *durable.Store, pattern string) metrics.Source {
	if store == nil {
		return nil
	}
	return kindMetrics{store, pattern}
}

type kindMetrics struct {
	store   *durable.Store
	pattern string
}

// Describe implements metrics.Source.
func (kindMetrics) Describe() (all []metrics.Desc) {
	for _, m := range describedKind() {
		all = append(all, m.Desc)
	}
	return all
}

// Read implements metrics.Source.
func (m kindMetrics) Read() (all []metrics.Value) {
	stats, _ := m.store.Stats(context.Background()) // whose counts are current
	var kind durable.Stats
	for _, each := range stats.Kinds {
		if each.Pattern == m.pattern {
			kind.HandlerStats = each.HandlerStats
		}
	}
	for _, m := range describedKind() {
		all = append(all, m.value(kind))
	}
	return all
}

// describedKind returns the metrics that a kind has.
func describedKind() (all []metric) {
	for _, m := range described {
		switch m.Name {
		case "durable.running", "durable.longest_running", "durable.fired", "durable.succeeded",
			"durable.retried", "durable.postponed", "durable.given_up", "durable.overtime", "durable.lateness":
			all = append(all, m)
		}
	}
	return all
}

type storeMetrics struct{ store *durable.Store }

// metric is one metric of a snapshot.
type metric struct {
	metrics.Desc
	value func(durable.Stats) metrics.Value
}

// Describe implements metrics.Source.
func (storeMetrics) Describe() (all []metrics.Desc) {
	for _, m := range described {
		all = append(all, m.Desc)
	}
	return all
}

// Read implements metrics.Source.
func (m storeMetrics) Read() (all []metrics.Value) {
	stats, _ := m.store.Stats(context.Background()) // whose sizes may be old
	for _, m := range described {
		all = append(all, m.value(stats))
	}
	return all
}

var described = []metric{
	number(metrics.Gauge, "pending", "Pending entries", func(s durable.Stats) int64 { return s.Pending }),
	number(metrics.Gauge, "claimed", "Entries that fire or are about to", func(s durable.Stats) int64 { return s.Claimed }),
	number(metrics.Gauge, "dead", "Dead letters", func(s durable.Stats) int64 { return s.Dead }),
	number(metrics.Gauge, "pauses", "Pauses, each of the store, a prefix, or a group", func(s durable.Stats) int64 { return s.Pauses }),
	size("disk", "Disk in use", func(s durable.Stats) int64 { return s.Bytes }),
	size("disk_limit", "Limit of the disk in use, or 0", func(s durable.Stats) int64 { return s.Limit }),
	number(metrics.Counter, "set", "Entries set and created", func(s durable.Stats) int64 { return s.Set }),
	number(metrics.Counter, "moved", "Entries moved", func(s durable.Stats) int64 { return s.Moved }),
	number(metrics.Counter, "cancelled", "Entries cancelled", func(s durable.Stats) int64 { return s.Cancelled }),
	number(metrics.Counter, "leased", "Entries leased by workers, including repeatedly", func(s durable.Stats) int64 { return s.Leased }),
	number(metrics.Counter, "fired", "Calls of handlers", func(s durable.Stats) int64 { return s.Fired }),
	number(metrics.Counter, "succeeded", "Attempts after which the entry is done", func(s durable.Stats) int64 { return s.Succeeded }),
	number(metrics.Counter, "retried", "Failed attempts that are repeated", func(s durable.Stats) int64 { return s.Retried }),
	number(metrics.Counter, "postponed", "Attempts that returned Postpone", func(s durable.Stats) int64 { return s.Postponed }),
	number(metrics.Counter, "given_up", "Entries that became dead letters", func(s durable.Stats) int64 { return s.GivenUp }),
	number(metrics.Counter, "overtime", "Attempts that went on after the end of their Timeout", func(s durable.Stats) int64 { return s.Overtime }),
	number(metrics.Counter, "missed", "Claims that left out occurrences, missed or overlapping", func(s durable.Stats) int64 { return s.Missed }),
	number(metrics.Counter, "overtaken", "Claims that a Cancel, a Move, or another worker won", func(s durable.Stats) int64 { return s.Overtaken }),
	number(metrics.Counter, "fenced", "Firings prevented because the lease had ended", func(s durable.Stats) int64 { return s.Fenced }),
	number(metrics.Counter, "adopted", "Entries taken over from workers that were gone", func(s durable.Stats) int64 { return s.Adopted }),
	durations("lateness", "Time from due times to calls of handlers", func(s durable.Stats) hwt.Histogram { return s.Lateness }),
	durations("claim_time", "Duration of claim batches", func(s durable.Stats) hwt.Histogram { return s.ClaimTime }),
	number(metrics.Counter, "errors", "Errors for which calls and workers waited for the database", func(s durable.Stats) int64 { return s.Errors }),
	number(metrics.Gauge, "limited", "Entries in this process that wait for limits", func(s durable.Stats) int64 { return s.Limited }),
	number(metrics.Gauge, "running", "Running handlers", func(s durable.Stats) int64 { return s.Running }),
	seconds("longest_running", "Age of the handler that has run for the longest time", func(s durable.Stats) time.Duration { return s.Longest }),
	seconds("overdue", "Lateness of the oldest entry that has not begun to fire", func(s durable.Stats) time.Duration { return s.Overdue }),
	seconds("clock_offset", "Database's clock minus this machine's", func(s durable.Stats) time.Duration { return s.ClockOffset }),
	seconds("clock_error", "Largest possible error of the clock offset", func(s durable.Stats) time.Duration { return s.ClockError }),
}

func describe(kind metrics.Kind, name, help, unit string) metrics.Desc {
	return metrics.Desc{Name: "durable." + name, Help: help, Unit: unit, Kind: kind}
}

func number(kind metrics.Kind, name, help string, of func(durable.Stats) int64) metric {
	return metric{describe(kind, name, help, ""), func(s durable.Stats) metrics.Value { return metrics.Value{Number: float64(of(s))} }}
}

func size(name, help string, of func(durable.Stats) int64) metric {
	m := number(metrics.Gauge, name, help, of)
	m.Unit = "bytes"
	return m
}

func seconds(name, help string, of func(durable.Stats) time.Duration) metric {
	return metric{describe(metrics.Gauge, name, help, "seconds"), func(s durable.Stats) metrics.Value { return metrics.Value{Number: of(s).Seconds()} }}
}

func durations(name, help string, of func(durable.Stats) hwt.Histogram) metric {
	return metric{describe(metrics.Histogram, name, help, "seconds"), func(s durable.Stats) metrics.Value {
		h := of(s)
		v := metrics.Value{Number: h.Sum.Seconds()}
		for i, n := range h.Counts {
			v.Buckets = append(v.Buckets, metrics.Bucket{Bound: h.Bound(i).Seconds(), Count: uint64(n)})
		}
		v.Buckets[len(h.Counts)-1].Bound = math.Inf(1)
		return v
	}}
}
