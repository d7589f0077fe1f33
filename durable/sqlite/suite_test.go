package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
)

// The suite runs all statements.
func TestBackend(t *testing.T) {
	all := make(texts)
	backendtest.Run(t, func(t testing.TB) backend.Backend {
		o, err := (*Options)(nil).complete()
		require.NoError(t, err)
		b, err := newBackend(t.Context(), filepath.Join(t.TempDir(), "timers.db"), o)
		require.NoError(t, err)
		t.Cleanup(func() {
			if b.failure() == nil {
				require.NoError(t, b.apart(context.Background(), (*conn).verify))
				all.note(t, b)
				require.NoError(t, b.Close())
			}
		})
		return damager{b}
	})
	t.Run("NoStatementReadsAllRows", all.requirePlans)
	t.Run("AllStatementsAreRun", all.requireAll)
}

type damager struct{ *sqliteBackend }

func (d damager) Damage(t testing.TB, key string) {
	for _, table := range []string{"hwt_entries", "hwt_dead"} {
		require.NoError(t, d.do(t.Context(), 1, func(t *txn) error {
			_, err := t.c.query("UPDATE " + table + " SET due = due + 1 WHERE key = ?").blob(key).exec()
			return err
		}))
	}
}
