package backendtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// testBacklogOfAGroup stores overdue rows of a large group, and rows of other groups that are due later. A worker has room
// for a tenth of the rows, and calls the handlers of the other groups first nevertheless.
func testBacklogOfAGroup(t *testing.T, b backend.Backend) {
	const large, small = 1000, 5
	var ops []backend.Op
	for i := range large + small {
		op := set(fmt.Sprint("k", i), int64(1+i/2))
		if op.Row.Group = "large"; i >= large {
			op.Row.Group = []string{"", "small"}[i%2]
		}
		ops = append(ops, op)
	}
	must(b.Apply(t.Context(), ops))(t)
	store := must(durable.New(t.Context(), b, nil))(t)
	ctx, end := context.WithCancel(t.Context())
	groups := make(chan string, large+small)
	ended := make(chan error, 1)
	go func() {
		ended <- store.Work(ctx, func(_ context.Context, f durable.Firing) error {
			groups <- f.Group
			time.Sleep(time.Millisecond) // a backlog stays
			return nil
		}, &durable.WorkOptions{Concurrency: 2, MaxHeld: 100})
	}()
	before := 0
	for found := 0; found < small && before < large; {
		if <-groups == "large" {
			before++
		} else {
			found++
		}
	}
	end()
	equal(t, "error of Work", <-ended, nil)
	if before > large/4 {
		t.Errorf("%d of %d rows of the large group fired before the other groups (expected: up to a quarter)", before, large)
	}
}
