package leak

import (
	"fmt"
	"reflect"
)

// textOf turns a hint into text. textOf returns even if a method of the hint panics, but
// not if a method ends the goroutine.
func textOf(hint any) (text string) {
	defer func() {
		if recover() != nil { // fmt catches a panic, but not a second one while formatting the first
			text = fmt.Sprintf("%T that panicked", hint)
		}
	}()
	switch h := hint.(type) {
	case nil:
		return ""
	case string:
		return h
	case error, fmt.Stringer, fmt.Formatter:
		return fmt.Sprint(h)
	}
	if !plain(reflect.TypeOf(hint)) {
		return fmt.Sprintf("%T", hint)
	}
	return fmt.Sprint(hint)
}

// plain reports whether values of type t consist only of numbers, booleans, and strings.
// Printing another hint might read memory that is being written, or print an address that would
// make every report distinct.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Uintptr:
		return false
	case reflect.String:
		return true
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !plain(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return t.Kind() <= reflect.Complex128
}
