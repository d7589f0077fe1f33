package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// serverLog passes the server's warnings and errors to a slog.Logger.
type serverLog struct {
	log *slog.Logger

	mu   sync.Mutex
	last error // The last fatal message. Guarded by mu.
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	l.log.Warn("nats-server: " + trimNewline(fmt.Sprintf(format, v...)))
}

func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error("nats-server: " + trimNewline(fmt.Sprintf(format, v...)))
}

func (l *serverLog) Fatalf(format string, v ...any) {
	text := trimNewline(fmt.Sprintf(format, v...))
	l.log.Error("nats-server: " + text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = errors.New(text)
}

func (l *serverLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
