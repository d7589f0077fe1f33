package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestEachCauseIsLoggedOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		trouble := trouble{logger: slog.New(slog.NewTextHandler(&log, nil))}
		for i := range 100 {
			trouble.note(fmt.Errorf("read tcp 127.0.0.1:%d: reset", 3000+i))
			trouble.note(errMissed)
		}
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "waiting"))
		trouble.note(errors.New("another cause"))
		synctest.Wait()
		require.Equal(t, 2, strings.Count(log.String(), "waiting"))
		time.Sleep(time.Minute)
		trouble.note(fmt.Errorf("read tcp 127.0.0.1:1: reset"))
		synctest.Wait()
		require.Equal(t, 3, strings.Count(log.String(), "waiting"))
		require.ErrorContains(t, trouble.err(), "reset")
		n, _, last := trouble.Last()
		require.EqualValues(t, 102, n)
		require.ErrorContains(t, last, "reset")
		trouble.over()
		require.NoError(t, trouble.err())
	})
}

// The texts of PostgreSQL and PgBouncer name no remedy.
func TestErrorsOfPreparedStatementsNameARemedy(t *testing.T) {
	for _, code := range []string{"42P05", "26000"} {
		err := &pgconn.PgError{Code: code, Message: "prepared statement"}
		require.False(t, passes(err), code)
		require.ErrorContains(t, described(err), "default_query_exec_mode=exec")
		require.ErrorIs(t, described(err), error(err))
	}
}
