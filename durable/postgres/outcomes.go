package postgres

import (
	"context"

	"github.com/hashedwheel/hwt/durable/backend"
)

// outcomes ends claims.
type outcomes struct {
	*session
	returner *returner
}

// Finish implements [backend.Backend]. Done commits asynchronously: if the server loses it, the
// firing repeats with the same ID. The returner stores two kinds of outcomes later: outcomes of
// rows that a caller's transaction has locked, and outcomes that the database rejects. The
// outcome of a damaged row is logged and dropped. No such outcome fails another. An error comes
// with the results of the outcomes that are stored.
func (o outcomes) Finish(ctx context.Context, worker int64, all []backend.Outcome) (applied []bool, err error) {
	applied = make([]bool, len(all))
	for first := 0; first < len(all) && err == nil; {
		some := all[first:]
		var f *finishing
		if f, err = finish(ctx, o.session, worker, some[:distinct(some)]); err == nil {
			err = o.returner.keep(f)
		}
		first += copy(applied[first:], f.applied)
	}
	return applied, err
}
