package check

import "reflect"

// IsNil reports whether v is nil, or an interface that holds a nil pointer, map,
// slice, channel or function. Unlike v == nil, it finds a typed nil.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func:
		return r.IsNil()
	}
	return false
}
