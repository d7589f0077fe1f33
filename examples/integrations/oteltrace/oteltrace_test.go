package oteltrace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
	"github.com/hashedwheel/hwt/examples/integrations/oteltrace"
)

// storeVar is the environment variable with the store of the worker process.
const storeVar = "OTELTRACE_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(storeVar); path != "" {
		if err := work(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work prints the trace and the parent of the first firing, and ends.
func work(path string) error {
	ctx, end := context.WithTimeout(context.Background(), time.Minute)
	defer end()
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("worker")
	err = store.Work(ctx, oteltrace.Handler(tracer)(func(ctx context.Context, _ durable.Firing) error {
		fmt.Println(trace.SpanContextFromContext(ctx).TraceID())
		end()
		return nil
	}), nil)
	for _, s := range spans.Ended() {
		fmt.Println(s.Parent().SpanID(), s.Name())
	}
	return err
}

func TestHandlerInAnotherProcessContinuesTrace(t *testing.T) {
	ctx, span := sdktrace.NewTracerProvider().Tracer("caller").Start(t.Context(), "order")
	path := filepath.Join(t.TempDir(), "timers.db")
	store, err := sqlite.Open(ctx, path, nil)
	require.NoError(t, err)
	_, err = store.Set(ctx, oteltrace.Inject(ctx, durable.Entry{Key: "mail/17", Due: time.Now(), Headers: map[string]string{"tenant": "acme"}}))
	require.NoError(t, err)
	require.NoError(t, store.Close())

	worker := exec.CommandContext(t.Context(), os.Args[0])
	worker.Env = append(os.Environ(), storeVar+"="+path)
	worker.Stderr = os.Stderr
	out, err := worker.Output()
	require.NoError(t, err)
	require.Equal(t, []string{span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String() + " fire mail"},
		strings.Split(strings.TrimSpace(string(out)), "\n"))
}

func TestErrorOfAHandlerEndsItsSpan(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("worker")
	failure := errors.New("refused")
	handler := oteltrace.Handler(tracer)(func(context.Context, durable.Firing) error { return failure })
	require.Equal(t, failure, handler(t.Context(), durable.Firing{Entry: durable.Entry{Key: "mail/17"}}))
	require.Len(t, spans.Ended(), 1)
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "refused"}, spans.Ended()[0].Status())
	assert.False(t, spans.Ended()[0].Parent().IsValid(), "the entry has no trace")
}

func TestInjectKeepsTheCallersHeaders(t *testing.T) {
	headers := map[string]string{"tenant": "acme"}
	ctx, _ := sdktrace.NewTracerProvider().Tracer("caller").Start(t.Context(), "order")
	e := oteltrace.Inject(ctx, durable.Entry{Headers: headers})
	assert.Equal(t, map[string]string{"tenant": "acme"}, headers)
	assert.Equal(t, "acme", e.Headers["tenant"])
	assert.Contains(t, e.Headers, "traceparent")
}
