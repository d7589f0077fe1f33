// Package hwtprom exports the metrics of timers and of the packages built on them to
// Prometheus.
//
//	prometheus.MustRegister(hwtprom.New("orders", metrics.Timer(timer)))
//	prometheus.MustRegister(hwtprom.New("sessions", metrics.Cache(sessions)))
//	http.Handle("/metrics", promhttp.Handler())
//
// Names follow the conventions of Prometheus: timer.tasks_failed of package metrics
// becomes hwt_timer_tasks_failed_total with the label name. The folder contains a
// Grafana dashboard, dashboard.json, and Prometheus alerts, alerts.yml.
package hwtprom

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hashedwheel/hwt/metrics"
)

// New returns a collector of the source's metrics. The label name distinguishes
// sources of the same kind in a registry. Unregister the collector when its timer is
// stopped.
//
// Each scrape reads the source once, without involving the timer's worker. The
// collector is safe for concurrent use. Registration fails if name is not valid
// UTF-8, if source is nil, or if the registry already has a collector of this name
// and kind.
func New(name string, source metrics.Source) prometheus.Collector {
	if source == nil {
		return invalid{fmt.Errorf("hwtprom: New: source of %q is nil (expected: a metrics.Source)", name)}
	}
	c := &collector{source: source}
	for _, d := range source.Describe() {
		labels := prometheus.Labels{"name": name}
		c.descs = append(c.descs, prometheus.NewDesc(nameOf(d), d.Help+".", nil, labels))
		c.kinds = append(c.kinds, d.Kind)
	}
	return c
}

// nameOf returns the name of a metric in Prometheus.
func nameOf(d metrics.Desc) string {
	name := "hwt_" + strings.ReplaceAll(d.Name, ".", "_")
	if d.Unit != "" && d.Unit[0] != '{' {
		name += "_" + d.Unit
	}
	if d.Kind == metrics.Counter {
		name += "_total"
	}
	return name
}

type collector struct {
	source metrics.Source     // Safe for concurrent use.
	descs  []*prometheus.Desc // Immutable after New.
	kinds  []metrics.Kind     // Immutable after New.
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for i, v := range c.source.Read() {
		to <- metricOf(c.descs[i], c.kinds[i], v)
	}
}

// metricOf returns v as Prometheus represents it. The scrape reports an invalid value.
func metricOf(desc *prometheus.Desc, kind metrics.Kind, v metrics.Value) prometheus.Metric {
	var m prometheus.Metric
	var err error
	switch kind {
	case metrics.Counter:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, v.Number)
	case metrics.Gauge:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, v.Number)
	case metrics.Histogram:
		count, buckets := cumulative(v.Buckets)
		m, err = prometheus.NewConstHistogram(desc, count, v.Number, buckets)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

// cumulative returns the total count, and for each bound the number of values up to
// it.
func cumulative(buckets []metrics.Bucket) (count uint64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(buckets))
	for _, b := range buckets {
		count += b.Count
		upTo[b.Bound] = count
	}
	return count, upTo
}

// invalid is a collector that every registry rejects with its error.
type invalid struct{ err error }

// Describe implements [prometheus.Collector].
func (i invalid) Describe(to chan<- *prometheus.Desc) { to <- prometheus.NewInvalidDesc(i.err) }

// Collect implements [prometheus.Collector].
func (i invalid) Collect(chan<- prometheus.Metric) {}
