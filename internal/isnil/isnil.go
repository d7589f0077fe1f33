// Package isnil finds the nil that a comparison does not: a nil pointer in an
// interface.
package isnil

import "reflect"

// Of reports whether v is nil, or an interface that holds a nil pointer, map,
// slice, channel or function.
func Of(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func:
		return r.IsNil()
	}
	return false
}
