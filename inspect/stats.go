package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/hashedwheel/hwt"
)

// shown is a timer in JSON.
type shown struct {
	Name    string         `json:"name"`
	Type    string         `json:"type"`
	Workers int            `json:"workers,omitempty"`
	Listed  bool           `json:"listed"` // is a lister
	Stats   map[string]any `json:"stats,omitempty"`
}

// show reads the counts of t.
func (t timer) show() shown {
	s := shown{Name: t.name, Type: strings.TrimPrefix(fmt.Sprintf("%T", t.timer), "*")}
	_, s.Listed = t.timer.(lister)
	if t.view != nil {
		s.Workers = len(t.view.Workers())
	}
	if e, ok := t.timer.(interface{ Stats() hwt.Stats }); ok {
		s.Stats = statsOf(e.Stats())
	}
	return s
}

func showAll(timers []timer) []shown {
	all := make([]shown, len(timers)) // not null in JSON
	for i, t := range timers {
		all[i] = t.show()
	}
	return all
}

// statsOf returns the fields of stats by their names in snake case, durations in
// nanoseconds. Reflection finds the fields, so a new one cannot be forgotten here.
func statsOf(stats hwt.Stats) map[string]any {
	v := reflect.ValueOf(stats)
	fields := make(map[string]any, v.NumField())
	for i := range v.NumField() {
		name := snake(v.Type().Field(i).Name)
		switch f := v.Field(i).Interface().(type) {
		case time.Duration:
			fields[name+"_ns"] = int64(f)
		case hwt.Histogram:
			fields[name] = histogramOf(f)
		default:
			fields[name] = f
		}
	}
	return fields
}

// histogramOf returns the counts of h with the usual summary.
func histogramOf(h hwt.Histogram) map[string]any {
	return map[string]any{
		"counts":  h.Counts[:],
		"sum_ns":  int64(h.Sum),
		"mean_ns": int64(h.Mean()),
		"p50_ns":  int64(h.Quantile(0.5)),
		"p99_ns":  int64(h.Quantile(0.99)),
	}
}

// bounds holds the upper bounds of the buckets of every histogram in nanoseconds.
var bounds = func() (bounds []int64) {
	for i := range len(hwt.Histogram{}.Counts) {
		bounds = append(bounds, int64(hwt.Histogram{}.Bound(i)))
	}
	return bounds
}()

// snake returns a name in snake case.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// writeJSON writes a value in lines.
func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(value)
}
