package hwtotel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hashedwheel/hwt/metrics"
)

// counts are the values of a metric: of a histogram by the bounds of its buckets, of a
// counter at 0.
type counts map[float64]float64

// reader observes the values of a source. It is the registration that Register returns.
//
// OpenTelemetry's SDK computes the growth of a counter from two collections in turn. The counts
// of a source that takes a name between the two start at 0, below the values of the first
// collection. The new reader adds the values that the last reader observed. After a collection
// without the name, the SDK starts at 0, too.
type reader struct {
	metric.Registration                            // of read. Written by register, used after Unregister.
	descs               []metrics.Desc             // Immutable.
	keys                []key                      // of the metrics in names. Immutable.
	instruments         []metric.Float64Observable // Immutable after register.
	named               metric.MeasurementOption   // Immutable.
	base                []counts                   // by metric, added to the source's values. Immutable after reserve.

	mu     sync.Mutex
	source metrics.Source // nil after Unregister. Guarded by mu.
	last   []counts       // by metric, the values observed last. Guarded by mu.
}

func newReader(meter metric.Meter, name string, source metrics.Source) *reader {
	attributes := attribute.NewSet(attribute.String("hwt.name", name))
	descs := source.Describe()
	r := &reader{descs: descs, keys: keys(meter, name, descs), named: metric.WithAttributeSet(attributes),
		source: source, base: make([]counts, len(descs)), last: make([]counts, len(descs))}
	for i := range r.last {
		r.last[i] = make(counts)
	}
	return r
}

// register creates the instruments and registers read.
func (r *reader) register(meter metric.Meter) (err error) {
	var all []metric.Observable
	for _, d := range r.descs {
		i, err := newInstrument(meter, d)
		if err != nil {
			return fmt.Errorf("hwtotel: %s: %w", d.Name, err)
		}
		r.instruments = append(r.instruments, i)
		all = append(all, i)
	}
	r.Registration, err = meter.RegisterCallback(r.read, all...)
	return err
}

// read is the callback of the registration. The first one after Unregister ends it.
func (r *reader) read(_ context.Context, o metric.Observer) error {
	if r.isOver() {
		names.release(r)
		go r.Registration.Unregister() // The SDK holds the lock that Unregister needs.
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.source == nil { // since isOver
		return nil
	}
	for i, v := range r.source.Read() {
		if r.descs[i].Kind != metrics.Histogram {
			r.observe(o, i, 0, v.Number)
			continue
		}
		count := uint64(0)
		for _, b := range v.Buckets {
			count += b.Count
			bound := attribute.String("le", strconv.FormatFloat(b.Bound, 'g', -1, 64))
			r.observe(o, i, b.Bound, float64(count), metric.WithAttributes(bound))
		}
	}
	return nil
}

// observe observes a value of a metric. Its caller holds mu.
func (r *reader) observe(o metric.Observer, i int, at, value float64, options ...metric.ObserveOption) {
	if r.descs[i].Kind != metrics.Gauge {
		value += r.base[i][at]
		r.last[i][at] = value
	}
	o.ObserveFloat64(r.instruments[i], value, append(options, r.named)...)
}

// Unregister implements [metric.Registration]. The name can be used again at once, and the
// meter forgets the callback at the next collection, or when the name is used again.
func (r *reader) Unregister() error {
	r.mu.Lock()
	r.source = nil
	r.mu.Unlock()
	if r.keys == nil {
		return r.Registration.Unregister()
	}
	return nil
}

// isOver reports whether the registration is unregistered.
func (r *reader) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source == nil
}

// lastOf returns the values of a metric that an ended reader observed last.
func (r *reader) lastOf(k key) counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[slices.Index(r.keys, k)]
}

// end removes an ended reader from the meter and from names.
func (r *reader) end() {
	_ = r.Registration.Unregister()
	names.release(r)
}
