//go:build !unix

package check

import (
	"errors"
	"io"
)

func pause(int) error                     { return errors.ErrUnsupported }
func resume(int) error                    { return errors.ErrUnsupported }
func kill(int) error                      { return errors.ErrUnsupported }
func lockAsInC(string) (io.Closer, error) { return nil, errors.ErrUnsupported }
