package leak

import (
	"fmt"
	"reflect"
)

// textOf turns a hint into text, and returns whatever the hint does, but for
// ending the goroutine.
func textOf(hint any) (text string) {
	defer func() {
		if recover() != nil { // fmt catches a panic, but not one about the panic
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
	if opaque(hint) {
		return fmt.Sprintf("%T", hint)
	}
	return fmt.Sprint(hint)
}

// opaque reports whether printing hint might read memory that others may be
// writing, or show an address, which makes every report distinct: all that is
// not a plain value by itself.
func opaque(hint any) bool {
	return !plain(reflect.TypeOf(hint))
}

// plain reports whether values of type t are numbers, booleans and strings, and
// nothing that refers to other memory.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Uintptr:
		return false
	case reflect.String:
		return true
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if !plain(field.Type) {
				return false
			}
		}
		return true
	}
	return t.Kind() <= reflect.Complex128
}
