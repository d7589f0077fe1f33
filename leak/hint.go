package leak

import (
	"fmt"
	"reflect"
)

// textOf turns a hint into text. It returns whatever the hint's methods do,
// unless they end the goroutine.
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

// opaque reports whether printing hint might read memory that is being written,
// or show an address, which would make every report distinct. Only plain values
// are not opaque.
func opaque(hint any) bool {
	return !plain(reflect.TypeOf(hint))
}

// plain reports whether values of type t consist of numbers, booleans and
// strings, and refer to no other memory.
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
