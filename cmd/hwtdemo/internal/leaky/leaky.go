// Package leaky loses a timer on purpose and waits for the report.
package leaky

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
)

// Result is the end of the lost timer.
type Result struct {
	Report string // of the leak detector
	Before int    // goroutines before the timer was created
	While  int    // goroutines while it was in use
	After  int    // goroutines after the report, when the worker had ended
}

// collectEvery is the pause between two garbage collections.
const collectEvery = 10 * time.Millisecond

// Lose creates a timer, uses it, drops it without Stop, and collects garbage until
// the leak is reported and the worker has ended, or ctx ends. Meanwhile it replaces
// the default logger.
func Lose(ctx context.Context) (Result, error) {
	reports := make(reportLog, 1)
	before := slog.Default()
	slog.SetDefault(slog.New(reports))
	defer slog.SetDefault(before)

	r := Result{Before: runtime.NumGoroutine()}
	dropped := make(chan error)
	go func() { dropped <- useAndDrop() }() // on a goroutine, whose stack is short
	if err := <-dropped; err != nil {
		return r, err
	}
	r.While = runtime.NumGoroutine()
	for r.Report == "" || runtime.NumGoroutine() > r.Before {
		runtime.GC()
		select {
		case r.Report = <-reports:
		case <-time.After(collectEvery):
		case <-ctx.Done():
			return r, fmt.Errorf("the lost timer was not collected: %w", ctx.Err())
		}
	}
	r.After = runtime.NumGoroutine()
	return r, nil
}

// useAndDrop is the mistake: when it returns, its timer is unreachable and not stopped.
//
//go:noinline
func useAndDrop() error {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	if err != nil {
		return err
	}
	fired := make(chan struct{})
	if _, err := timer.AfterFunc(5*time.Millisecond, func() { close(fired) }); err != nil {
		return err
	}
	<-fired
	return nil
}

// reportLog is a log handler that passes on the first error.
type reportLog chan string

// Enabled implements slog.Handler.
func (reportLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (l reportLog) Handle(_ context.Context, record slog.Record) error {
	select {
	case l <- record.Message:
	default: // only one timer was lost
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l reportLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l reportLog) WithGroup(string) slog.Handler { return l }
