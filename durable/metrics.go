package durable

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/metrics"
)

// Metrics returns the store's figures for modules metrics/hwtprom and
// metrics/hwtotel:
//
//	prometheus.MustRegister(hwtprom.New("orders", store.Metrics()))
func (s *Store) Metrics() metrics.Source { return storeMetrics{s} }

type storeMetrics struct{ store *Store }

// metric is one metric of a snapshot.
type metric struct {
	metrics.Desc
	value func(Stats) metrics.Value
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
	stats := m.store.Stats()
	for _, m := range described {
		all = append(all, m.value(stats))
	}
	return all
}

var described = []metric{
	count(metrics.Gauge, "pending", "Timers stored and not yet handed to workers", func(s Stats) int64 { return s.Pending }),
	count(metrics.Gauge, "leased", "Timers in the hands of workers, or on the way to them", func(s Stats) int64 { return s.Leased }),
	count(metrics.Gauge, "dead", "Timers given up", func(s Stats) int64 { return s.Dead }),
	size("disk", "Disk in use on each server", func(s Stats) int64 { return s.Bytes }),
	size("disk_limit", "What the disk in use is measured against, or 0 if unlimited", func(s Stats) int64 { return s.Limit }),
	count(metrics.Counter, "set", "Timers set and created", func(s Stats) int64 { return s.Set }),
	count(metrics.Counter, "moved", "Timers moved", func(s Stats) int64 { return s.Moved }),
	count(metrics.Counter, "cancelled", "Timers cancelled", func(s Stats) int64 { return s.Cancelled }),
	count(metrics.Counter, "received", "Timers received by workers, including repeatedly", func(s Stats) int64 { return s.Received }),
	count(metrics.Counter, "redelivered", "Timers received by workers repeatedly", func(s Stats) int64 { return s.Redelivered }),
	count(metrics.Counter, "fired", "Handlers called", func(s Stats) int64 { return s.Fired }),
	count(metrics.Counter, "succeeded", "Handlers that returned nil", func(s Stats) int64 { return s.Succeeded }),
	count(metrics.Counter, "retried", "Attempts that failed and are tried again", func(s Stats) int64 { return s.Retried }),
	count(metrics.Counter, "given_up", "Timers that became dead letters", func(s Stats) int64 { return s.GivenUp }),
	count(metrics.Counter, "missed", "Occurrences left out", func(s Stats) int64 { return s.Missed }),
	count(metrics.Counter, "refused", "Claims that a Cancel, a Move or another worker won", func(s Stats) int64 { return s.Refused }),
	count(metrics.Counter, "fenced", "Firings refused because the lease had ended", func(s Stats) int64 { return s.Fenced }),
	count(metrics.Counter, "repaired", "Overdue timers that an audit set free", func(s Stats) int64 { return s.Repaired }),
	durations("lateness", "How long after their due times handlers were called", func(s Stats) hwt.Histogram { return s.Lateness }),
	durations("claim_time", "How long it took to claim timers", func(s Stats) hwt.Histogram { return s.Claims }),
	seconds("lag", "How late the server handed out the last timer of the latest shard", lag),
	seconds("canary_age", "How long ago the canary of the latest shard came through, or 0 before all have", canaryAge),
	seconds("overdue", "How long the canary of the latest shard has waited for a worker of any process", longestOverdue),
	seconds("clock_offset", "How far the server's clock is ahead of this machine's", func(s Stats) time.Duration { return s.ClockOffset }),
	seconds("clock_error", "The most that the offset of the clock may be wrong by", func(s Stats) time.Duration { return s.ClockError }),
}

func describe(kind metrics.Kind, name, help, unit string) metrics.Desc {
	return metrics.Desc{Name: "durable." + name, Help: help, Unit: unit, Kind: kind}
}

func count(kind metrics.Kind, name, help string, of func(Stats) int64) metric {
	return metric{describe(kind, name, help, ""), func(s Stats) metrics.Value { return metrics.Value{Number: float64(of(s))} }}
}

func size(name, help string, of func(Stats) int64) metric {
	m := count(metrics.Gauge, name, help, of)
	m.Unit = "bytes"
	return m
}

func seconds(name, help string, of func(Stats) time.Duration) metric {
	return metric{describe(metrics.Gauge, name, help, "seconds"), func(s Stats) metrics.Value { return metrics.Value{Number: of(s).Seconds()} }}
}

func durations(name, help string, of func(Stats) hwt.Histogram) metric {
	return metric{describe(metrics.Histogram, name, help, "seconds"), func(s Stats) metrics.Value {
		h := of(s)
		v := metrics.Value{Number: h.Sum.Seconds()}
		for i, n := range h.Counts {
			v.Buckets = append(v.Buckets, metrics.Bucket{Bound: h.Bound(i).Seconds(), Count: uint64(n)})
		}
		v.Buckets[len(v.Buckets)-1].Bound = math.Inf(1)
		return v
	}}
}

func lag(s Stats) (most time.Duration) {
	for _, shard := range s.Shards {
		most = max(most, shard.Lag)
	}
	return most
}

// longestOverdue is 0 before any worker ran, when no shard has a canary.
func longestOverdue(s Stats) (most time.Duration) {
	for _, shard := range s.Shards {
		most = max(most, shard.Overdue)
	}
	return most
}

func canaryAge(s Stats) (most time.Duration) {
	for _, shard := range s.Shards {
		if shard.Canary.IsZero() {
			return 0
		}
		most = max(most, s.Time.Sub(shard.Canary))
	}
	return most
}
