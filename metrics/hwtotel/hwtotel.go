// Package hwtotel exports the counts of timers, and of what is built on them, by
// OpenTelemetry.
//
//	meter := otel.Meter("github.com/hashedwheel/hwt")
//	registration, err := hwtotel.Register(meter, "orders", metrics.Timer(timer))
//	...
//	defer registration.Unregister()
//
// The metric timer.tasks_failed of package metrics is hwt.timer.tasks_failed, with
// the attribute hwt.name. OpenTelemetry has no histograms that are read like that, so
// each bucket of one is a counter, with the attribute le: how many values were no more
// than it, as Prometheus has it.
package hwtotel

import (
	"context"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hashedwheel/hwt/metrics"
)

// Register creates instruments for the source's metrics and lets the meter read
// them, once for each collection, until the registration is unregistered. Do that
// when the timer is stopped. name, the attribute hwt.name, distinguishes the source
// from others of its kind. Register returns the error of the meter if that refuses
// an instrument.
func Register(meter metric.Meter, name string, source metrics.Source) (metric.Registration, error) {
	attributes := attribute.NewSet(attribute.String("hwt.name", name))
	r := &reader{source: source, named: metric.WithAttributeSet(attributes)}
	var all []metric.Observable
	for _, d := range source.Describe() {
		i, err := newInstrument(meter, d)
		if err != nil {
			return nil, fmt.Errorf("hwtotel: %s: %w", d.Name, err)
		}
		r.instruments = append(r.instruments, i)
		all = append(all, i)
	}
	return meter.RegisterCallback(r.read, all...)
}

// newInstrument returns the instrument of a metric.
func newInstrument(meter metric.Meter, d metrics.Desc) (metric.Float64Observable, error) {
	name, help := "hwt."+d.Name, metric.WithDescription(d.Help)
	switch d.Kind {
	case metrics.Histogram:
		return meter.Float64ObservableCounter(name+".bucket", help, metric.WithUnit("1"))
	case metrics.Counter:
		return meter.Float64ObservableCounter(name, help, metric.WithUnit(unitOf(d)))
	default:
		return meter.Float64ObservableGauge(name, help, metric.WithUnit(unitOf(d)))
	}
}

// unitOf returns the unit as UCUM spells it.
func unitOf(d metrics.Desc) string {
	switch d.Unit {
	case "":
		return "1"
	case "seconds":
		return "s"
	case "bytes":
		return "By"
	}
	return d.Unit
}

// reader observes the values of a source. Immutable after Register.
type reader struct {
	source      metrics.Source
	instruments []metric.Float64Observable
	named       metric.MeasurementOption
}

// read is the callback of the registration.
func (r *reader) read(_ context.Context, o metric.Observer) error {
	for i, v := range r.source.Read() {
		if v.Buckets == nil {
			o.ObserveFloat64(r.instruments[i], v.Number, r.named)
			continue
		}
		r.readBuckets(o, r.instruments[i], v.Buckets)
	}
	return nil
}

func (r *reader) readBuckets(o metric.Observer, instrument metric.Float64Observable, buckets []metrics.Bucket) {
	count := uint64(0)
	for _, b := range buckets {
		count += b.Count
		bound := attribute.String("le", strconv.FormatFloat(b.Bound, 'g', -1, 64))
		o.ObserveFloat64(instrument, float64(count), r.named, metric.WithAttributes(bound))
	}
}
