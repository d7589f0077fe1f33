package postgres

import (
	"context"

	"github.com/hashedwheel/hwt/durable/backend"
)

// pauses keeps rows from being leased, claimed, and adopted.
type pauses struct {
	*session
	announcer *announcer
}

// Pause implements [backend.Backend].
func (p pauses) Pause(ctx context.Context, pause backend.Pause) error {
	return p.insist(ctx, func(ctx context.Context) error {
		return p.inTx(ctx, p.settings(patientWait, false), func(t *txn) error {
			return t.write(ctx, query(nil, lockPausesSQL, p.options.Schema), execute(pauseSQL, []byte(pause.Prefix), []byte(pause.Group),
				[]byte(pause.Reason), []byte(pause.By), pause.Since))
		})
	})
}

// Resume implements [backend.Backend].
func (p pauses) Resume(ctx context.Context, scope backend.Scope) error {
	var since []int64
	err := p.insist(ctx, func(ctx context.Context) error {
		return p.inTx(ctx, p.settings(patientWait, false), func(t *txn) error {
			since = nil
			return t.write(ctx, query(each(&since), resumeSQL, []byte(scope.Prefix), []byte(scope.Group)))
		})
	})
	if err == nil && len(since) == 0 {
		err = backend.ErrNotFound
	}
	if err == nil {
		p.announcer.freed()
	}
	return err
}

// Paused implements [backend.Backend].
func (p pauses) Paused(ctx context.Context) ([]backend.Pause, error) {
	return read(ctx, reader{p.session}, scanPause, pausesSQL, func() []any { return nil })
}

func scanPause(scan scanner) (backend.Pause, error) {
	var prefix, group, reason, by octets
	var since int64
	err := scan(&prefix, &group, &reason, &by, &since)
	return backend.Pause{Scope: backend.Scope{Prefix: string(prefix), Group: string(group)}, Reason: string(reason), By: string(by), Since: since}, err
}
