package durable_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

var everything = durable.Scope{All: true}

func plain(key string) durable.Entry { return durable.Entry{Key: key, Due: time.Now().Add(time.Hour)} }

// entryCalls are the methods of Entries that use the database. The dead letter "dead" has a generation.
var entryCalls = map[string]func(ctx context.Context, e durable.Entries, dead uint64) error{
	"Set": func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Set(ctx, plain("new"))) },
	"Create": func(ctx context.Context, e durable.Entries, _ uint64) error {
		return second(e.Create(ctx, plain("new")))
	},
	"Ensure": func(ctx context.Context, e durable.Entries, _ uint64) error {
		_, _, err := e.Ensure(ctx, plain("new"))
		return err
	},
	"SetMany": func(ctx context.Context, e durable.Entries, _ uint64) error {
		return second(e.SetMany(ctx, slices.Values([]durable.Entry{plain("new")})))
	},
	"Move": func(ctx context.Context, e durable.Entries, _ uint64) error {
		return second(e.Move(ctx, "k", time.Now().Add(time.Minute)))
	},
	"Cancel": func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Cancel(ctx, "k")) },
	"CancelMany": func(ctx context.Context, e durable.Entries, _ uint64) error {
		return second(e.CancelMany(ctx, everything))
	},
	"Get": func(ctx context.Context, e durable.Entries, _ uint64) error { return second(e.Get(ctx, "k")) },
	"Requeue": func(ctx context.Context, e durable.Entries, dead uint64) error {
		return second(e.Requeue(ctx, "dead", dead))
	},
	"Discard": func(ctx context.Context, e durable.Entries, dead uint64) error { return e.Discard(ctx, "dead", dead) },
}

// storeCalls are the other methods of Store that use the database and return.
var storeCalls = map[string]func(ctx context.Context, s *durable.Store) error{
	"All":    func(ctx context.Context, s *durable.Store) error { return last(s.All(ctx, "")) },
	"Dead":   func(ctx context.Context, s *durable.Store) error { return last(s.Dead(ctx, "")) },
	"Series": func(ctx context.Context, s *durable.Store) error { return last(s.Series(ctx, "")) },
	"Pause": func(ctx context.Context, s *durable.Store) error {
		return s.Pause(ctx, durable.Pause{Scope: everything})
	},
	"Resume": func(ctx context.Context, s *durable.Store) error {
		return s.Resume(ctx, durable.Scope{Prefix: "paused/"})
	},
	"Paused": func(ctx context.Context, s *durable.Store) error { return second(s.Paused(ctx)) },
	"Limit": func(ctx context.Context, s *durable.Store) error {
		return s.Limit(ctx, everything, durable.Limit{Running: 9})
	},
	"RemoveLimit": func(ctx context.Context, s *durable.Store) error {
		return s.RemoveLimit(ctx, durable.Scope{Prefix: "limited/"})
	},
	"Limits": func(ctx context.Context, s *durable.Store) error { return second(s.Limits(ctx)) },
	"RequeueMany": func(ctx context.Context, s *durable.Store) error {
		return second(s.RequeueMany(ctx, durable.Letters{All: true}))
	},
	"DiscardMany": func(ctx context.Context, s *durable.Store) error {
		return second(s.DiscardMany(ctx, durable.Letters{All: true}))
	},
	"Stats": func(ctx context.Context, s *durable.Store) error { return second(s.Stats(ctx)) },
}

// last returns the last error of a sequence.
func last[T any](seq iter.Seq2[T, error]) (err error) {
	for _, each := range seq {
		err = each
	}
	return err
}

// contents are the stored entries, dead letters, pauses, and limits.
func (f *fixture) contents() (all []string) {
	f.t.Helper()
	ctx := f.t.Context()
	for e, err := range f.All(ctx, "") {
		require.NoError(f.t, err)
		all = append(all, e.Key+" "+e.Due.String())
	}
	pauses, err := f.Paused(ctx)
	require.NoError(f.t, err)
	for _, p := range pauses {
		all = append(all, "paused: "+p.Scope.String())
	}
	limits, err := f.Limits(ctx)
	require.NoError(f.t, err)
	for _, l := range limits {
		all = append(all, "limited: "+l.Scope.String())
	}
	return append(all, f.letterKeys()...)
}

// stored fills the store for all calls, and returns the generation of the dead letter.
func (f *fixture) stored() uint64 {
	f.t.Helper()
	f.bury("no", "dead")
	f.setIn("k", time.Hour)
	require.NoError(f.t, f.Pause(f.t.Context(), durable.Pause{Scope: durable.Scope{Prefix: "paused/"}}))
	require.NoError(f.t, f.Limit(f.t.Context(), durable.Scope{Prefix: "limited/"}, durable.Limit{Running: 1}))
	return f.dead()[0].Generation
}

// each runs a test for each call that uses the database.
func each(t *testing.T, test func(t *testing.T, f *fixture, call func(ctx context.Context) error)) {
	for _, name := range slices.Sorted(maps.Keys(entryCalls)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				dead := f.stored()
				test(t, f, func(ctx context.Context) error { return entryCalls[name](ctx, f.Entries, dead) })
			})
		})
	}
	for _, name := range slices.Sorted(maps.Keys(storeCalls)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.stored()
				test(t, f, func(ctx context.Context) error { return storeCalls[name](ctx, f.Store) })
			})
		})
	}
}

func TestCallsSucceed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, call func(context.Context) error) {
		require.NoError(t, call(f.t.Context()))
	})
}

func TestCallWithAnEndedContextHasNoEffect(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, call func(context.Context) error) {
		before := f.contents()
		time.Sleep(3 * time.Second) // the sizes of Stats are old
		begun := time.Now()
		ctx, cancel := context.WithCancel(f.t.Context())
		cancel()
		require.ErrorIs(t, call(ctx), context.Canceled)
		require.Zero(t, time.Since(begun))
		time.Sleep(time.Minute)
		require.Equal(t, before, f.contents())
	})
}

func TestCallsOfAClosedStoreReturnErrClosed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, call func(context.Context) error) {
		time.Sleep(3 * time.Second)
		require.NoError(t, f.Close())
		require.ErrorIs(t, call(f.t.Context()), durable.ErrClosed)
		require.NoError(t, f.Close(), "a second Close")
	})
}

func TestWorkOfAClosedStoreReturnsErrClosed(t *testing.T) {
	var m durable.Mux
	m.Handle("/", hang, nil)
	for name, work := range map[string]func(ctx context.Context, s *durable.Store) error{
		"Work":    func(ctx context.Context, s *durable.Store) error { return s.Work(ctx, hang, nil) },
		"WorkMux": func(ctx context.Context, s *durable.Store) error { return s.WorkMux(ctx, &m) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx, cancel := context.WithCancel(f.t.Context())
				cancel()
				require.NoError(t, work(ctx, f.Store), "with an ended context")
				require.NoError(t, f.Close())
				err := work(f.t.Context(), f.Store)
				require.ErrorIs(t, err, durable.ErrClosed)
				require.ErrorContains(t, err, "durable: "+name+": ")
			})
		})
	}
}

// A transaction of the program keeps all writes waiting.
func TestEndOfAContextEndsTheWait(t *testing.T) {
	writes := []string{"Set", "Create", "Ensure", "SetMany", "Move", "Cancel", "CancelMany", "Requeue", "Discard"}
	for _, name := range writes {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				dead := f.stored()
				before := f.contents()
				tx, err := f.b.Begin(f.t.Context())
				require.NoError(t, err)
				begun := time.Now()
				ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
				defer cancel()
				require.ErrorIs(t, entryCalls[name](ctx, f.Entries, dead), context.DeadlineExceeded)
				require.Equal(t, 10*time.Second, time.Since(begun))
				require.NoError(t, tx.Rollback())
				require.Equal(t, before, f.contents())
			})
		})
	}
}

func TestEntriesWithoutADatabaseAreInvalid(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for view, c := range map[string]struct {
			entries durable.Entries
			says    string
		}{
			"zero Entries":   {durable.Entries{}, "zero Entries (expected: the Entries of a Store or a Tx)"},
			"zero Tx":        {durable.Tx{}.Entries, "zero Entries"},
			"no transaction": {durable.NewTx(f.Store, nil).Entries, "transaction nil, or of another store"},
		} {
			for _, name := range slices.Sorted(maps.Keys(entryCalls)) {
				t.Run(view+"/"+name, func(t *testing.T) {
					err := entryCalls[name](f.t.Context(), c.entries, 1)
					require.ErrorIs(t, err, durable.ErrInvalid)
					require.ErrorContains(t, err, c.says)
				})
			}
			t.Run(view+"/Done", func(t *testing.T) {
				require.ErrorIs(t, durable.Tx{Entries: c.entries}.Done(f.t.Context(), durable.Firing{}), durable.ErrInvalid)
			})
		}
	})
}

func TestConditionIsForThreeVerbs(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(entryCalls)) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				dead := f.stored()
				before := f.contents()
				err := entryCalls[name](f.t.Context(), f.If(77), dead)
				switch name {
				case "Move", "Cancel":
					require.ErrorIs(t, err, durable.ErrConflict)
				case "Set":
					require.ErrorIs(t, err, durable.ErrNotFound)
				default:
					require.ErrorIs(t, err, durable.ErrInvalid)
					require.ErrorContains(t, err, "If(77) (expected: a condition only for Set, Move, and Cancel)")
				}
				require.Equal(t, before, f.contents())
			})
		})
	}
}

// In a transaction, calls answer as without one.
func TestFailedDatabaseFailsCalls(t *testing.T) {
	broken := errors.New("broken")
	for _, name := range []string{"Set", "Create", "Ensure", "SetMany", "Move", "Cancel", "CancelMany", "Requeue", "Discard"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				dead := f.stored()
				f.b.set("Apply", broken)
				err := entryCalls[name](f.t.Context(), f.Entries, dead)
				require.ErrorIs(t, err, broken)
				assert.ErrorContains(t, err, "durable: "+name)
				assert.NotErrorIs(t, err, durable.ErrInvalid)
			})
		})
	}
}
