package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hibiken/asynq"
)

type asynqRival struct {
	redis     asynq.RedisClientOpt
	client    *asynq.Client
	inspector *asynq.Inspector
}

func openAsynq(address string) (rival, error) {
	redis := asynq.RedisClientOpt{Addr: address}
	return &asynqRival{redis, asynq.NewClient(redis), asynq.NewInspector(redis)}, nil
}

func (a *asynqRival) set(ctx context.Context, timers []timer) error {
	for _, t := range timers {
		payload, err := json.Marshal(t.due)
		if err != nil {
			return err
		}
		if _, err := a.client.EnqueueContext(ctx, asynq.NewTask("check", payload), asynq.ProcessAt(t.due), asynq.TaskID(key(t.n))); err != nil {
			return err
		}
	}
	return nil
}

func (a *asynqRival) move(context.Context, int, time.Time) error { return errUnsupported }

func (a *asynqRival) cancel(_ context.Context, n int) error {
	return a.inspector.DeleteTask("default", key(n))
}

func (a *asynqRival) work(ctx context.Context, fired func(time.Time)) error {
	server := asynq.NewServer(a.redis, asynq.Config{
		Concurrency:              64,
		DelayedTaskCheckInterval: time.Second, // the shortest; 5 s is the default
		LogLevel:                 asynq.FatalLevel,
	})
	mux := asynq.NewServeMux()
	mux.HandleFunc("check", func(_ context.Context, task *asynq.Task) error {
		var due time.Time
		if err := json.Unmarshal(task.Payload(), &due); err != nil {
			return err
		}
		fired(due)
		return nil
	})
	if err := server.Start(mux); err != nil {
		return err
	}
	<-ctx.Done()
	server.Shutdown()
	return nil
}

func (a *asynqRival) close() {
	a.client.Close()
	a.inspector.Close()
}
