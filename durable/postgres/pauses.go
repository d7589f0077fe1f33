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
	return p.change(ctx, nil, query(nil, lockPausesSQL, p.options.Schema),
		execute(pauseSQL, []byte(pause.Prefix), []byte(pause.Group), []byte(pause.Reason), []byte(pause.By), pause.Since))
}

// Resume implements [backend.Backend].
func (p pauses) Resume(ctx context.Context, scope backend.Scope) error {
	var since []int64
	err := p.change(ctx, &since, query(each(&since), resumeSQL, []byte(scope.Prefix), []byte(scope.Group)))
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
