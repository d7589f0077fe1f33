package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

const (
	maxBatch  = 512
	maxBytes  = 8 << 20                // of payloads, in a batch
	batchWait = 100 * time.Millisecond // for a locked row, in a batch

	// maxRewritten bounds the rows that a transaction reads and writes with payloads, so that the
	// server finishes within Options.Timeout.
	maxRewritten = 64
)

// about names the row of an error.
func about(ref backend.Ref, err error) error {
	return fmt.Errorf("key %.64q, generation %d: %w", ref.Key, ref.Generation, err)
}

// inHalves calls store with positions. If store fails because of some rows, inHalves splits the
// batch and retries each half. It calls reject for each row that fails alone.
func inHalves(ctx context.Context, at []int, store func(at []int) error, reject func(i int, err error)) error {
	if len(at) == 0 {
		return nil
	}
	err := store(at)
	switch {
	case err == nil || ctx.Err() != nil || !concernsRow(err) && !errors.Is(err, errSlow):
		return err
	case len(at) == 1:
		reject(at[0], err)
		return nil
	}
	half := len(at) / 2
	return errors.Join(inHalves(ctx, at[:half], store, reject), inHalves(ctx, at[half:], store, reject))
}

// passOver calls some until there are most rows, or no more. n is the number of rows to get, at
// most batch, after skip others. passOver passes over single rows that the database cannot read or
// rejects: it asks for fewer rows until the bad rows are known, and also after a timeout.
func passOver(batch, most int, some func(n, skip int) (got int, err error)) error {
	var rejected error
	all, skip := 0, 0
	for n := batch; n > 0; {
		got, err := some(n, skip)
		all += got
		switch {
		case (concernsRow(err) || errors.Is(err, errSlow)) && n > 1:
			n /= 2
		case concernsRow(err):
			skip++
			rejected = err
		case err != nil || got < n:
			return cmp.Or(err, rejected)
		default:
			n *= 2
		}
		n = min(n, batch, most-all-skip)
	}
	return rejected
}

// distinct returns the number of outcomes before the second one for the same row.
func distinct(outcomes []backend.Outcome) int {
	known := make(map[backend.Ref]struct{})
	for i := range outcomes {
		if _, again := known[outcomes[i].Ref]; again {
			return i
		}
		known[outcomes[i].Ref] = struct{}{}
	}
	return len(outcomes)
}
