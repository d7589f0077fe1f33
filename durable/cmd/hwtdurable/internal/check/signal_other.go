//go:build !unix

package check

import "errors"

func pause(int) error  { return errors.ErrUnsupported }
func resume(int) error { return errors.ErrUnsupported }
func kill(int) error   { return errors.ErrUnsupported }
