//go:build !linux

package check

import "errors"

func mount(string, int) error  { return errors.ErrUnsupported }
func unmount(string)           {}
func own(string, string) error { return errors.ErrUnsupported }
