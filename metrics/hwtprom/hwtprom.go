// Package hwtprom exports the counts of timers, and of what is built on them, to
// Prometheus.
//
//	prometheus.MustRegister(hwtprom.New("orders", metrics.Timer(timer)))
//	prometheus.MustRegister(hwtprom.New("sessions", metrics.Cache(sessions)))
//	http.Handle("/metrics", promhttp.Handler())
//
// Names are by the conventions of Prometheus: timer.tasks_failed of package metrics
// is hwt_timer_tasks_failed_total, with the label name. The folder has a dashboard
// for Grafana, dashboard.json, and alerts for Prometheus, alerts.yml.
package hwtprom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hashedwheel/hwt/metrics"
)

// New returns a collector of the source's metrics, with the label name, which
// distinguishes it from others of its kind in a registry. Unregister it when its
// timer is stopped.
//
// A scrape reads the source once, which takes the timer's worker no time. The
// collector is safe for concurrent use. A registry refuses it if name is not valid
// UTF-8, or has a collector of that name and kind.
func New(name string, source metrics.Source) prometheus.Collector {
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
	if d.Unit != "" {
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

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for i, v := range c.source.Read() {
		to <- metricOf(c.descs[i], c.kinds[i], v)
	}
}

// metricOf returns a value as a scrape has it; an error goes to the scrape.
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

// cumulative returns the count of all buckets, and for each bound how many values
// are no more than it.
func cumulative(buckets []metrics.Bucket) (count uint64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(buckets))
	for _, b := range buckets {
		count += b.Count
		upTo[b.Bound] = count
	}
	return count, upTo
}
