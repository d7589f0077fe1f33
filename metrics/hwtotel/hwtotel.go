// Package hwtotel exports the metrics of timers and of the packages built on them to
// OpenTelemetry.
//
//	meter := otel.Meter("github.com/hashedwheel/hwt")
//	registration, err := hwtotel.Register(meter, "orders", metrics.Timer(timer))
//	...
//	defer registration.Unregister()
//
// The metric timer.tasks_failed of package metrics becomes hwt.timer.tasks_failed with the
// attribute hwt.name. OpenTelemetry has no observable histograms. Each bucket is a counter of
// the values up to its attribute le, as in Prometheus; the sum of the values is not exported.
package hwtotel

import (
	"fmt"
	"unicode/utf8"

	"go.opentelemetry.io/otel/metric"

	"github.com/hashedwheel/hwt/metrics"
)

// Register creates instruments for the source's metrics on meter. The meter reads the source once
// per collection until the registration is unregistered; unregister when the timer is stopped. If a
// source takes the name before the next collection, the counts continue the old counts, so that the
// growth is never negative. The attribute hwt.name is name and distinguishes sources of the same
// kind.
//
// Register returns an error if an argument is nil, if name is not valid UTF-8, if the
// meter rejects an instrument, or if a metric of the source is already registered on
// the meter under this name. Register is safe for concurrent use.
func Register(meter metric.Meter, name string, source metrics.Source) (metric.Registration, error) {
	if err := check(meter, name, source); err != nil {
		return nil, err
	}
	r := newReader(meter, name, source)
	if err := names.reserve(r); err != nil {
		return nil, err
	}
	if err := r.register(meter); err != nil {
		names.release(r)
		return nil, err
	}
	return r, nil
}

func check(meter metric.Meter, name string, source metrics.Source) error {
	switch {
	case !utf8.ValidString(name):
		return fmt.Errorf("hwtotel: Register: name is %q (expected: valid UTF-8)", name)
	case meter == nil:
		return fmt.Errorf("hwtotel: Register: meter of %q is nil (expected: a metric.Meter)", name)
	case source == nil:
		return fmt.Errorf("hwtotel: Register: source of %q is nil (expected: a metrics.Source)", name)
	}
	return nil
}

// newInstrument returns the instrument of a metric.
func newInstrument(meter metric.Meter, d metrics.Desc) (metric.Float64Observable, error) {
	name, help := "hwt."+d.Name, metric.WithDescription(d.Help)
	switch d.Kind {
	case metrics.Histogram:
		return meter.Float64ObservableCounter(name+".bucket", help, metric.WithUnit("{value}"))
	case metrics.Counter:
		return meter.Float64ObservableCounter(name, help, metric.WithUnit(unitOf(d)))
	default:
		return meter.Float64ObservableGauge(name, help, metric.WithUnit(unitOf(d)))
	}
}

// unitOf returns the unit as UCUM spells it. Without braces, an exporter may take a count for
// a ratio.
func unitOf(d metrics.Desc) string {
	switch d.Unit {
	case "":
		return "{count}"
	case "seconds":
		return "s"
	case "bytes":
		return "By"
	}
	return d.Unit
}
