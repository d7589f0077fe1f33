package check

import "reflect"

// Keys reports which keys of type K a map can find again. A NaN is unequal to
// itself, and an interface may hold a value that cannot be hashed. The zero value
// accepts every key.
type Keys[K comparable] struct {
	needed bool // Immutable after KeysOf.
}

// KeysOf returns the check for type K. Integers, strings, pointers, and the
// arrays and structs of them need none.
func KeysOf[K comparable]() Keys[K] { return Keys[K]{needed: fallible(reflect.TypeFor[K]())} }

// OK reports whether key can be hashed and equals itself. It costs nothing for a type with keys
// that always do.
func (c Keys[K]) OK(key K) bool { return !c.needed || sound(key) }

// sound is the slow path of OK. The comparison panics if an interface in key holds a value
// that cannot be compared; Go hashes the values that it compares.
func sound[K comparable](key K) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	same := key
	return key == same
}

// fallible reports whether a value of type t can be unsound.
func fallible(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return fallible(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if fallible(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
