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

type registry struct {
	mu   sync.Mutex
	used map[key]bool // Guarded by mu.
}

// key identifies a metric. OpenTelemetry's SDK has one meter per scope.
type key struct {
	meter  metric.Meter
	name   string
	metric string
}

// reserve registers the metrics of a source. It returns their keys, or an error and
// no keys if one is in use.
func (r *registry) reserve(meter metric.Meter, name string, descs []metrics.Desc) (keys []key, err error) {
	if reflect.TypeOf(meter).Kind() != reflect.Pointer {
		return nil, nil // a meter without state, such as noop.Meter
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range descs {
		k := key{meter, name, d.Name}
		if r.used[k] {
			r.remove(keys)
			return nil, fmt.Errorf("hwtotel: Register: name %q is in use for %s (expected: another name, or Unregister first)", name, d.Name)
		}
		if r.used == nil {
			r.used = make(map[key]bool)
		}
		r.used[k] = true
		keys = append(keys, k)
	}
	return keys, nil
}

func (r *registry) release(keys []key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(keys)
}

func (r *registry) remove(keys []key) {
	for _, k := range keys {
		delete(r.used, k)
	}
}

// registration is a meter's registration and its names.
type registration struct {
	metric.Registration
	release func()
}

// Unregister implements [metric.Registration]. The names can be used again if it
// succeeds.
func (r *registration) Unregister() error {
	if err := r.Registration.Unregister(); err != nil {
		return err
	}
	r.release()
	return nil
}
