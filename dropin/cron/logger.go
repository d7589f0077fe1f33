package cron

import (
	"io"
	"log"
	"os"
	"strings"
	"time"
)

// DefaultLogger logs errors to standard output.
var DefaultLogger Logger = PrintfLogger(log.New(os.Stdout, "cron: ", log.LstdFlags))

// DiscardLogger logs nothing.
var DiscardLogger Logger = PrintfLogger(log.New(io.Discard, "", 0))

// Logger is the interface of loggers, a subset of github.com/go-logr/logr.
type Logger interface {
	Info(msg string, keysAndValues ...any)
	Error(err error, msg string, keysAndValues ...any)
}

// PrintfLogger returns a Logger of errors only.
func PrintfLogger(l interface{ Printf(string, ...any) }) Logger { return printfLogger{l, false} }

// VerbosePrintfLogger returns a Logger of everything.
func VerbosePrintfLogger(l interface{ Printf(string, ...any) }) Logger { return printfLogger{l, true} }

type printfLogger struct {
	logger  interface{ Printf(string, ...any) }
	logInfo bool
}

// Info implements Logger.
func (l printfLogger) Info(msg string, keysAndValues ...any) {
	if l.logInfo {
		l.print(msg, keysAndValues)
	}
}

// Error implements Logger.
func (l printfLogger) Error(err error, msg string, keysAndValues ...any) {
	l.print(msg, append([]any{"error", err}, keysAndValues...))
}

// print logs "msg, key=value, key=value".
func (l printfLogger) print(msg string, keysAndValues []any) {
	args := []any{msg}
	for _, v := range keysAndValues {
		if t, ok := v.(time.Time); ok {
			v = t.Format(time.RFC3339)
		}
		args = append(args, v)
	}
	l.logger.Printf("%s"+strings.Repeat(", %v=%v", len(keysAndValues)/2), args...)
}
