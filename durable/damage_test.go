package durable_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// torn is a Memory in which the row and the dead letter of one key read as damaged, with another
// key. Its index still has the first one, as PostgreSQL's would.
type torn struct {
	*memdb.DB
	indexed, key string
}

func (m *torn) Page(ctx context.Context, prefix string, after backend.Cursor, n int, claimed bool) ([]backend.Row, error) {
	rows, err := m.DB.Page(ctx, prefix, after, n, claimed)
	for i, r := range rows {
		if r.Key == m.indexed {
			return rows[:i], &backend.Damage{Ref: backend.Ref{Key: m.key, Generation: r.Generation}, Slot: r.Slot()}
		}
	}
	return rows, err
}

func (m *torn) DeadPage(ctx context.Context, prefix string, after backend.Ref, n int) ([]backend.Dead, error) {
	letters, err := m.DB.DeadPage(ctx, prefix, after, n)
	for i, d := range letters {
		if d.Key == m.indexed {
			return letters[:i], &backend.Damage{Ref: backend.Ref{Key: m.key, Generation: d.Generation}}
		}
	}
	return letters, err
}

func TestSequencesEndBehindDamagedKey(t *testing.T) {
	for _, key := range []string{"", "k0", "k3", "k9"} {
		t.Run(key, func(t *testing.T) {
			ctx := t.Context()
			m := &torn{memdb.New(), "k5", key}
			s, err := durable.New(ctx, m, nil)
			require.NoError(t, err)
			defer s.Close()
			worker, err := m.Heartbeat(ctx, 0, time.Hour)
			require.NoError(t, err)
			for _, k := range []string{"k1", "k4", "k5", "k6"} {
				e, err := s.Set(ctx, durable.Entry{Key: k, Due: time.Now().Add(time.Hour)})
				require.NoError(t, err)
				ref := backend.Ref{Key: k, Generation: e.Generation}
				_, err = m.Claim(ctx, worker, []backend.Claim{{Ref: ref}})
				require.NoError(t, err)
				_, err = m.Finish(ctx, worker, []backend.Outcome{{Ref: ref, Fate: backend.Bury}})
				require.NoError(t, err)
				_, err = s.Set(ctx, durable.Entry{Key: k, Due: time.Now().Add(time.Hour)})
				require.NoError(t, err)
			}
			var entries, letters []string
			note := func(seen *[]string, key string, err error) {
				if err != nil {
					require.ErrorIs(t, err, durable.ErrDamaged)
					key += "!"
				}
				*seen = append(*seen, key)
				require.Less(t, len(*seen), 10, "the sequence does not end")
			}
			for e, err := range s.All(ctx, "") {
				note(&entries, e.Key, err)
			}
			for d, err := range s.Dead(ctx, "") {
				note(&letters, d.Key, err)
			}
			want := []string{"k1", "k4", key + "!"}
			require.Equal(t, want, entries)
			require.Equal(t, want, letters)
			n, err := s.CancelMany(ctx, durable.Scope{All: true})
			require.ErrorIs(t, err, durable.ErrDamaged)
			require.Equal(t, 2, n)
		})
	}
}

// The checksum covers the recurrence, but an older or a faulty program may have stored it.
func TestUndecodableRecurrenceIsDamage(t *testing.T) {
	ctx := t.Context()
	m := memdb.New()
	s, err := durable.New(ctx, m, nil)
	require.NoError(t, err)
	defer s.Close()
	worker, err := m.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	store := func() backend.Ref {
		results, err := m.Apply(ctx, []backend.Op{{Row: backend.Row{Key: "k", Due: 1, Every: "x"}}})
		require.NoError(t, err)
		return results[0].Row.Ref()
	}
	letter := store()
	_, err = m.Claim(ctx, worker, []backend.Claim{{Ref: letter}})
	require.NoError(t, err)
	_, err = m.Finish(ctx, worker, []backend.Outcome{{Ref: letter, Fate: backend.Bury, Error: "no"}})
	require.NoError(t, err)
	store()
	seen := 0
	for e, err := range s.All(ctx, "") {
		require.ErrorIs(t, err, durable.ErrDamaged)
		require.Equal(t, durable.Entry{Key: "k"}, e)
		seen++
	}
	for d, err := range s.Dead(ctx, "") {
		require.ErrorIs(t, err, durable.ErrDamaged)
		require.Equal(t, durable.DeadLetter{Entry: durable.Entry{Key: "k", Generation: letter.Generation}}, d)
		seen++
	}
	require.Equal(t, 2, seen)
	e, err := s.Cancel(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, durable.Entry{Key: "k"}, e)
	require.NoError(t, s.Discard(ctx, "k", letter.Generation))
	st, err := s.Stats(ctx)
	require.NoError(t, err)
	require.Zero(t, st.Pending+st.Dead)
}

// Each look finds the damaged entry behind the last intact one.
func TestDamageIsLoggedOncePerMinute(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.set("after Lease", &backend.Damage{Ref: backend.Ref{Key: "k", Generation: 1}})
		end := f.work(nil, nil)
		time.Sleep(10*time.Minute + time.Second)
		f.b.set("after Lease", &backend.Damage{Ref: backend.Ref{Key: "k", Generation: 2}})
		time.Sleep(time.Second)
		end()
		require.Equal(t, 12, strings.Count(f.log.String(), "damaged entries"))
	})
}
