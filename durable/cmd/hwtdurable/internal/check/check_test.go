package check

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

func TestAllSkipsADatabaseThatIsMissing(t *testing.T) {
	defer func(before []scenario) { scenarios = before }(scenarios)
	given := make(map[string]time.Duration)
	var broken error
	scenarios = []scenario{
		{"sqlite", func(_ context.Context, _ string, d time.Duration) (Report, error) {
			given["sqlite"] = d
			return Report{}, broken
		}},
		{"postgres", func(context.Context, string, time.Duration) (Report, error) { return Report{}, pgtest.ErrNotInstalled }},
	}
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	require.NoError(t, All(t.Context(), Options{For: time.Minute}, &out))
	require.Contains(t, out.String(), "postgres: SKIPPED: pgtest: PostgreSQL is not installed\n")
	require.Equal(t, 20*time.Second, given["sqlite"])
	require.ErrorIs(t, All(t.Context(), Options{For: time.Minute, Only: "postgres"}, &out), ErrFailed)
	broken = errors.New("address already in use")
	require.ErrorIs(t, All(t.Context(), Options{For: time.Minute, Only: "sqlite"}, &out), ErrFailed)
	require.Equal(t, time.Minute, given["sqlite"])
	require.Contains(t, out.String(), "FAILED: address already in use")
}
