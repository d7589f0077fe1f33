// Package enginetest helps to test engines and packages that use them. It imports
// only the standard library, so that package hwttest can use it.
package enginetest
