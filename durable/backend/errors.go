package backend

import (
	"errors"

	"github.com/hashedwheel/hwt"
)

// Errors that backends report. Package durable exports them under the same names.
var (
	ErrExists    = errors.New("the key has a pending entry")
	ErrNotFound  = errors.New("no pending entry or dead letter found")
	ErrFired     = errors.New("the entry has fired")
	ErrConflict  = errors.New("the pending entry has another generation")
	ErrFull      = errors.New("the store is full")
	ErrClosed    = errors.New("the store is closed")
	ErrInvalid   = hwt.ErrInvalid
	ErrLeaseLost = errors.New("the worker's lease has ended")
	ErrDamaged   = errors.New("the stored data is damaged")
	ErrNoStore   = errors.New("there is no store")
)
