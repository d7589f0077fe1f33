// Package hwtotel exports the metrics of timers and of the packages built on them to
// OpenTelemetry.
//
//	meter := otel.Meter("github.com/hashedwheel/hwt")
//	registration, err := hwtotel.Register(meter, "orders", metrics.Timer(timer))
//	...
//	defer registration.Unregister()
//
// The metric timer.tasks_failed of package metrics becomes hwt.timer.tasks_failed with
// the attribute hwt.name. OpenTelemetry has no observable histograms. Each bucket is
// therefore a counter of the values up to its attribute le, as in Prometheus; the sum of the
// values is not exported.
package hwtotel

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hashedwheel/hwt/metrics"
)

// Register creates instruments for the source's metrics on meter. The meter reads the
// source once per collection until the registration is unregistered; unregister it
// when the timer is stopped. The attribute hwt.name is name and distinguishes sources
// of the same kind.
//
// Register returns an error if an argument is nil, if name is not valid UTF-8, if the
// meter rejects an instrument, or if a metric of the source is already registered on
// the meter under this name. Register is safe for concurrent use.
func Register(meter metric.Meter, name string, source metrics.Source) (metric.Registration, error) {
	if err := check(meter, name, source); err != nil {
		return nil, err
	}
	descs := source.Describe()
	keys, err := names.reserve(meter, name, descs)
	if err != nil {
		return nil, err
	}
	release := sync.OnceFunc(func() { names.release(keys) })
	r, err := register(meter, name, source, descs)
	if err != nil {
		release()
		return nil, err
	}
	return &registration{r, release}, nil
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

func register(meter metric.Meter, name string, source metrics.Source, descs []metrics.Desc) (metric.Registration, error) {
	attributes := attribute.NewSet(attribute.String("hwt.name", name))
	r := &reader{source: source, descs: descs, named: metric.WithAttributeSet(attributes)}
	var all []metric.Observable
	for _, d := range descs {
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
	descs       []metrics.Desc
	instruments []metric.Float64Observable
	named       metric.MeasurementOption
}

// read is the callback of the registration.
func (r *reader) read(_ context.Context, o metric.Observer) error {
	for i, v := range r.source.Read() {
		if r.descs[i].Kind != metrics.Histogram {
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
