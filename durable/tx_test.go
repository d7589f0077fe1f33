package durable_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// The handler may fail after the commit: only the database knows that the entry is done.
func TestOutcomeAfterDoneIsTrue(t *testing.T) {
	fail := errors.New("the answer got lost")
	for name, c := range map[string]struct {
		commit bool
		end    func(ctx context.Context) error
		want   []durable.Outcome
	}{
		"commit":                {true, func(context.Context) error { return nil }, []durable.Outcome{durable.Succeeded}},
		"commit and error":      {true, func(context.Context) error { return fail }, []durable.Outcome{durable.Succeeded}},
		"commit and give up":    {true, func(context.Context) error { return durable.GiveUp(fail) }, []durable.Outcome{durable.Succeeded}},
		"commit and postpone":   {true, func(context.Context) error { return durable.Postpone(0) }, []durable.Outcome{durable.Succeeded}},
		"commit and panic":      {true, func(context.Context) error { panic(fail) }, []durable.Outcome{durable.Succeeded}},
		"commit and Goexit":     {true, func(context.Context) error { runtime.Goexit(); return nil }, []durable.Outcome{durable.Succeeded}},
		"commit and timeout":    {true, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, []durable.Outcome{durable.Succeeded}},
		"rollback":              {false, func(context.Context) error { return nil }, []durable.Outcome{durable.Succeeded}},
		"rollback and error":    {false, func(context.Context) error { return fail }, []durable.Outcome{durable.Retried, durable.GaveUp}},
		"rollback and give up":  {false, func(context.Context) error { return durable.GiveUp(fail) }, []durable.Outcome{durable.GaveUp}},
		"rollback and panic":    {false, func(context.Context) error { panic(fail) }, []durable.Outcome{durable.Retried, durable.GaveUp}},
		"rollback and postpone": {false, func(context.Context) error { return durable.Postpone(100 * time.Hour) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				a := newAudit()
				end := f.work(func(ctx context.Context, firing durable.Firing) error {
					db, err := f.b.Begin(ctx)
					require.NoError(t, err)
					require.NoError(t, durable.NewTx(f.Store, db).Done(ctx, firing))
					if c.commit {
						require.NoError(t, db.Commit())
					} else {
						require.NoError(t, db.Rollback())
					}
					return c.end(ctx)
				}, &durable.WorkOptions{MaxAttempts: 2, Timeout: time.Minute, OnOutcome: a.note})
				f.setIn("k", 0)
				time.Sleep(5 * time.Minute)
				end()
				var got []durable.Outcome
				counts := map[durable.Outcome]int64{}
				for _, run := range a.runs["k"] {
					got = append(got, run.Outcome)
					counts[run.Outcome]++
					assert.Equal(t, run.Outcome == durable.Succeeded, run.Error == "", run.Error)
				}
				assert.Equal(t, c.want, got)
				st := f.stats()
				assert.Equal(t, counts[durable.Succeeded], st.Succeeded)
				assert.Equal(t, counts[durable.Retried], st.Retried)
				assert.Equal(t, counts[durable.GaveUp], st.GivenUp)
				assert.Len(t, f.dead(), int(st.GivenUp))
			})
		})
	}
}

// Without an answer, the handler's error counts: the entry is retried unless the transaction has deleted it.
func TestUnknownEndOfATransactionIsAFailure(t *testing.T) {
	inBubble(t, func(f *fixture) {
		a := newAudit()
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			db, err := f.b.Begin(ctx)
			require.NoError(t, err)
			require.NoError(t, durable.NewTx(f.Store, db).Done(ctx, firing))
			require.NoError(t, db.Commit())
			f.b.set("Claim", errors.New("lost"))
			time.AfterFunc(10*time.Second, func() { f.b.set("Claim", nil) })
			return errors.New("failed")
		}, &durable.WorkOptions{OnOutcome: a.note})
		f.setIn("k", 0)
		time.Sleep(5 * time.Minute)
		end()
		require.Len(t, a.runs["k"], 1)
		assert.Equal(t, durable.Retried, a.runs["k"][0].Outcome)
		assert.Len(t, f.times(), 1)
		assert.Zero(t, f.stats().Retried)
	})
}

func TestDoneRejectsOtherFirings(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		var firing durable.Firing
		end := f.work(func(_ context.Context, each durable.Firing) error { firing = each; return nil }, nil)
		f.setIn("k", 0)
		time.Sleep(time.Second)
		end()
		other, err := durable.New(ctx, memdb.New(), nil)
		require.NoError(t, err)
		defer other.Close()
		for name, c := range map[string]struct {
			store  *durable.Store
			firing durable.Firing
			is     error
			says   string
		}{
			"made up":       {f.Store, durable.Firing{Entry: durable.Entry{Key: "k"}}, durable.ErrInvalid, "the firing was not passed to a handler"},
			"another store": {other, firing, durable.ErrInvalid, "the firing of another store"},
			"after Work":    {f.Store, firing, durable.ErrLeaseLost, `Done "k"`},
		} {
			t.Run(name, func(t *testing.T) {
				db, err := f.b.Begin(ctx)
				require.NoError(t, err)
				err = durable.NewTx(c.store, db).Done(ctx, c.firing)
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, c.says)
				require.NoError(t, db.Rollback())
			})
		}
	})
}

// The wrapper of a handler may have called Done before the handler does.
func TestSecondDoneOfAFiringSaysSo(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, each durable.Firing) error {
			db, err := f.b.Begin(ctx)
			assert.NoError(t, err)
			tx := durable.NewTx(f.Store, db)
			assert.NoError(t, tx.Done(ctx, each))
			err = tx.Done(ctx, each)
			assert.ErrorIs(t, err, durable.ErrLeaseLost)
			assert.ErrorContains(t, err, "or an earlier call of Done counts")
			return db.Commit()
		}, nil)
		f.setIn("k", 0)
		time.Sleep(time.Second)
		end()
		require.EqualValues(t, 1, f.stats().Succeeded)
	})
}
