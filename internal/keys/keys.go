// Package keys reports which keys a hash map can find again. A float that is not
// a number is unequal to itself, so that what is stored under it is lost; an
// interface may hold a value that cannot be hashed, which would panic.
package keys

import "reflect"

// Check is what is to be checked of the keys of one type. Its zero value lets
// every key pass.
type Check[K comparable] struct {
	needed bool // Immutable after For.
}

// For returns the check for type K. Most types need none: integers, strings,
// pointers, and what is made of them.
func For[K comparable]() Check[K] { return Check[K]{needed: fallible(reflect.TypeFor[K]())} }

// OK reports whether key can be hashed and is equal to itself. It costs nothing
// for a type whose keys always are.
func (c Check[K]) OK(key K) bool { return !c.needed || sound(key) }

// sound is the slow path of OK.
func sound[K comparable](key K) bool {
	same := key
	return reflect.ValueOf(&key).Elem().Comparable() && key == same
}

// fallible reports whether there are unsound values of type t.
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
