package hwtotel

import (
	"fmt"
	"reflect"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/hashedwheel/hwt/metrics"
)

// names holds the registered metrics. OpenTelemetry adds up the values that two
// callbacks observe with the same attributes, so a name must not be used twice.
var names registry

// registry maps each metric to the reader that observes the metric. After Unregister, a reader
// keeps metrics until the next collection. A reader that takes such a metric continues the
// counts.
type registry struct {
	mu      sync.Mutex
	readers map[key]*reader // Guarded by mu.
}

// key identifies a metric. OpenTelemetry's SDK has one meter per scope.
type key struct {
	meter  metric.Meter
	name   string
	metric string
}

// keys returns the metrics of a source, or nil if the meter has no state, such as noop.Meter.
func keys(meter metric.Meter, name string, descs []metrics.Desc) (all []key) {
	if reflect.TypeOf(meter).Kind() != reflect.Pointer {
		return nil
	}
	for _, d := range descs {
		all = append(all, key{meter, name, d.Name})
	}
	return all
}

// reserve registers the metrics of r, or returns an error and registers nothing.
func (g *registry) reserve(r *reader) error {
	ended, err := g.take(r)
	for _, other := range ended {
		other.end()
	}
	return err
}

// take is reserve. It returns the readers that had some of the metrics.
func (g *registry) take(r *reader) (ended []*reader, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := make(map[key]bool) // the source may repeat a metric
	for _, k := range r.keys {
		if other := g.readers[k]; own[k] || other != nil && !other.isOver() {
			return nil, fmt.Errorf("hwtotel: Register: name %q is in use for %s (expected: another name, or Unregister first)", k.name, k.metric)
		}
		own[k] = true
	}
	if g.readers == nil {
		g.readers = make(map[key]*reader)
	}
	for i, k := range r.keys {
		if other := g.readers[k]; other != nil {
			r.base[i] = other.lastOf(k)
			ended = append(ended, other)
		}
		g.readers[k] = r
	}
	return ended, nil
}

// release removes the metrics that r has.
func (g *registry) release(r *reader) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range r.keys {
		if g.readers[k] == r {
			delete(g.readers, k)
		}
	}
}
