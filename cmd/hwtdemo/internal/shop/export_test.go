package shop

import (
	"context"
	"unsafe"
)

// OrderSize is the memory of one order.
const OrderSize = unsafe.Sizeof(order{})

// PaymentsDrawn returns the number of payments that newWorkers draws.
func PaymentsDrawn(ctx context.Context, c Config) (n int) {
	for _, w := range newWorkers(ctx, &shop{checkAfter: c.CheckAfter}, c) {
		n += len(w.payments)
	}
	return n
}
