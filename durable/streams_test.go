package durable

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
)

func TestWhatAClusterLacksForAWhileIsWaitedFor(t *testing.T) {
	refused := func(code jetstream.ErrorCode) error {
		return fmt.Errorf("consumer: %w", &jetstream.APIError{ErrorCode: code})
	}
	for _, c := range []struct {
		err   error
		tries int
	}{
		{nats.ErrNoResponders, 3},
		{nats.ErrTimeout, 3},
		{refused(10008), 3}, // no majority
		{refused(10009), 3}, // no leader
		{refused(10118), 3}, // all nodes of the stream are down
		{refused(10119), 3},
		{refused(jetstream.JSErrCodeConsumerNotFound), 1},
		{jetstream.ErrStreamNotFound, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := patiently(context.Background(), func(context.Context) error {
				if tries++; tries < 3 {
					return c.err
				}
				return nil
			})
			assert.Equal(t, c.tries, tries, "%v", c.err)
			assert.Equal(t, c.tries == 1, err != nil, "%v", c.err)
		})
	}
}
