// Package oteltrace passes a trace context of OpenTelemetry to the handlers of durable entries, in the
// headers of W3C Trace Context: a handler continues the trace in which its entry was set, in any process
// and after any time.
//
//	entry, err := store.Set(ctx, oteltrace.Inject(ctx, durable.Entry{Key: "mail/17", Due: due}))
//	err = store.Work(ctx, oteltrace.Handler(tracer)(sendMail), nil)
package oteltrace

import (
	"context"
	"maps"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/hashedwheel/hwt/durable"
)

// Inject returns the entry with the trace context of ctx in its headers.
func Inject(ctx context.Context, e durable.Entry) durable.Entry {
	headers := maps.Clone(e.Headers)
	if headers == nil {
		headers = make(map[string]string)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(headers))
	e.Headers = headers
	return e
}

// Handler returns a wrapper of handlers. The span of each call continues the trace in the headers, and
// ends with the handler's error.
func Handler(tracer trace.Tracer) func(durable.Handler) durable.Handler {
	return func(next durable.Handler) durable.Handler {
		return func(ctx context.Context, f durable.Firing) error {
			ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(f.Headers))
			kind, _, _ := strings.Cut(f.Key, "/")
			ctx, span := tracer.Start(ctx, "fire "+kind, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
				attribute.String("durable.key", f.Key), attribute.String("durable.id", f.ID), attribute.Int("durable.attempt", f.Attempt)))
			defer span.End()
			err := next(ctx, f)
			if err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			return err
		}
	}
}
