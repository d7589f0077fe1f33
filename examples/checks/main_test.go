package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

func state(t *testing.T, s *shop, name string) (state string) {
	t.Helper()
	require.NoError(t, s.DB().QueryRowContext(t.Context(), "SELECT state FROM orders WHERE name = ?", name).Scan(&state))
	return state
}

func TestUnpaidOrderIsReleasedAfterARestart(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "shop.db")
	require.NoError(t, run(ctx, file, "paid", "", 100*time.Millisecond))
	require.NoError(t, run(ctx, file, "unpaid", "", 100*time.Millisecond))
	require.Error(t, run(ctx, file, "unpaid", "", time.Hour), "the name is taken")
	require.NoError(t, run(ctx, file, "", "paid", 0))

	s, err := open(ctx, file)
	require.NoError(t, err)
	defer s.Close()
	work, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- s.Work(work, s.check, nil) }()
	require.Eventually(t, func() bool { return state(t, s, "unpaid") == "released" }, time.Minute, 10*time.Millisecond)
	assert.Equal(t, "paid", state(t, s, "paid"))
	assert.ErrorIs(t, s.pay(ctx, "unpaid"), durable.ErrNotFound)
	assert.Equal(t, "released", state(t, s, "unpaid"))
	stop()
	require.NoError(t, <-done)
}
