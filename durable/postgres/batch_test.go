package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// A claim that fails on its own leaves the others of its batch claimed, and its row to be
// leased again.
func TestFailedClaimLeavesTheOthersOfItsBatch(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "failing")})
	due := time.Now().Add(time.Minute)
	apply(t, b, set("once", due), recurring("series", due))
	w := register(t, b)
	rows := lease(t, b, w, due)
	require.Len(t, rows, 2)
	_, err := pool.Exec(ctx, `CREATE FUNCTION failing.fail() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON failing.entry FOR EACH ROW EXECUTE FUNCTION failing.fail()`)
	require.NoError(t, err)
	won, err := b.Claim(ctx, w, claims(rows))
	require.ErrorIs(t, err, backend.ErrFull)
	require.Equal(t, []backend.Answer{backend.Won, backend.Overtaken}, won)
	_, err = pool.Exec(ctx, "DROP TRIGGER fail ON failing.entry")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(lease(t, b, w, due)) == 1 }, 20*time.Second, 10*time.Millisecond)
}

// The database rejects one claim, or the next occurrence of one series.
func TestRejectedClaimLeavesTheOthers(t *testing.T) {
	ctx := t.Context()
	for schema, op := range map[string]func(string, time.Time) backend.Op{"once": set, "series": recurring} {
		t.Run(schema, func(t *testing.T) {
			pool := newPool(t, "")
			b := open(t, pool, postgres.Options{Schema: fresh(t, schema)})
			due := time.Now().Add(time.Minute)
			apply(t, b, op("k0", due), op("k1", due), op("k2", due), op("k3", due))
			w := register(t, b)
			rows := lease(t, b, w, due)
			require.Len(t, rows, 4)
			_, err := pool.Exec(ctx, `ALTER TABLE `+schema+`.entry ADD CONSTRAINT c CHECK (key <> 'k1' OR state = 0)`)
			require.NoError(t, err)
			won, err := b.Claim(ctx, w, claims(rows))
			require.ErrorContains(t, err, `key "k1"`)
			require.ErrorContains(t, err, "23514")
			require.Equal(t, []backend.Answer{backend.Won, backend.Overtaken, backend.Won, backend.Won}, won)
		})
	}
}

// A row that PostgreSQL cannot read, or whose claim it rejects, is due before others.
func TestRejectedRowHidesNoOther(t *testing.T) {
	ctx := t.Context()
	for schema, code := range map[string]string{"unreadable": "XX001", "forbidden": "23514"} {
		t.Run(schema, func(t *testing.T) {
			pool := newPool(t, "")
			b := open(t, pool, postgres.Options{Schema: fresh(t, schema)})
			w, rows := claimed(t, b, 9)
			apply(t, b, set("of another worker", time.Now()))
			other := register(t, b)
			require.Len(t, lease(t, b, other, time.Now()), 1)
			for _, ended := range []int64{w, other} {
				_, err := b.Heartbeat(ctx, ended, 0)
				require.NoError(t, err)
			}
			for i := range 9 {
				apply(t, b, set(fmt.Sprint("l", i), time.Now()))
			}
			_, err := pool.Exec(ctx, fmt.Sprintf(`CREATE FUNCTION %[1]s.fail() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%[2]s'; END $$;
				CREATE TRIGGER fail BEFORE UPDATE ON %[1]s.entry FOR EACH ROW
				WHEN (OLD.key IN ('k1', 'k7', 'l0', 'l8')) EXECUTE FUNCTION %[1]s.fail()`, schema, code))
			require.NoError(t, err)
			w = register(t, b)
			adopted, err := b.Adopt(ctx, w, nil, 100)
			require.Len(t, adopted, len(rows)-2+1)
			if code == "XX001" {
				require.ErrorIs(t, err, backend.ErrDamaged)
			}
			for _, most := range []int{5, 4} { // of 7 that can be leased
				leased, err := b.LeaseRows(ctx, w, time.Now(), most)
				require.ErrorContains(t, err, code)
				require.Equal(t, code == "XX001", errors.Is(err, backend.ErrDamaged))
				require.Len(t, leased, most-1)
			}
		})
	}
}

func TestDamagedClaimLeavesTheOtherSeries(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "series")})
	due := time.Now().Add(time.Minute)
	apply(t, b, recurring("k0", due), recurring("k1", due))
	w := register(t, b)
	rows := lease(t, b, w, due)
	_, err := pool.Exec(ctx, `UPDATE series.entry SET payload = '\x00' WHERE key = 'k0'`)
	require.NoError(t, err)
	won, err := b.Claim(ctx, w, claims(rows))
	require.ErrorIs(t, err, backend.ErrDamaged)
	require.Equal(t, []backend.Answer{backend.Overtaken, backend.Won}, won)
}

// A row that was damaged while its handler ran must not keep the outcomes of others back.
func TestDamagedRowLosesOnlyItsOwnOutcome(t *testing.T) {
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "poisoned")})
	w, rows := claimed(t, b, 3)
	_, err := pool.Exec(t.Context(), `UPDATE poisoned.entry SET payload = '\x00' WHERE key = 'k1'`)
	require.NoError(t, err)
	var outcomes []backend.Outcome
	for _, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Bury})
	}
	applied, err := b.Finish(t.Context(), w, outcomes)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, applied)
}

// An outcome that the database rejects keeps no other one back. It is stored once the database
// accepts it, and logged once per try.
func TestRejectedOutcomeLeavesTheOthers(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	log := &lines{}
	b := open(t, pool, postgres.Options{Schema: fresh(t, "rejected"), Options: durable.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}})
	w, rows := claimed(t, b, 6)
	_, err := pool.Exec(ctx, `ALTER TABLE rejected.dead ADD CONSTRAINT c CHECK (key <> 'k1');
		CREATE FUNCTION rejected.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
		CREATE CONSTRAINT TRIGGER fail AFTER DELETE ON rejected.entry DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW WHEN (OLD.key = 'k4') EXECUTE FUNCTION rejected.fail()`)
	require.NoError(t, err)
	var outcomes []backend.Outcome
	for i, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Bury})
		if i >= 3 {
			outcomes[i].Fate = backend.Done
		}
	}
	begun := time.Now()
	applied, err := b.Finish(ctx, w, outcomes)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true, true, false, true}, applied)
	for range 3 { // other outcomes that are rejected
		_, err = b.Finish(ctx, w, outcomes)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, log.count(`error="key`), 1+int(time.Since(begun)/time.Second))
	_, err = pool.Exec(ctx, `ALTER TABLE rejected.dead DROP CONSTRAINT c; DROP TRIGGER fail ON rejected.entry`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		st, err := b.Stats(ctx, nil)
		return err == nil && st.Claimed == 0 && st.Dead == 3
	}, 20*time.Second, 10*time.Millisecond)
	require.NotZero(t, log.count(`error="key`))
}

// localized is a connection to a server that reports errors in another language.
type localized struct{ net.Conn }

func (c localized) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	copy(p, bytes.ReplaceAll(p[:n], []byte("SERROR\x00V"), []byte("SFALLO\x00V")))
	return n, err
}

// Otherwise the worker would try to store the outcomes of the batch forever.
func TestRejectedCommitIsKnownInEveryLanguage(t *testing.T) {
	config := newPool(t, "").Config()
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return localized{c}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := open(t, pool, postgres.Options{Schema: fresh(t, "translated"), PollOnly: true})
	w, rows := claimed(t, b, 2)
	_, err = pool.Exec(t.Context(), `CREATE FUNCTION translated.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
		CREATE CONSTRAINT TRIGGER fail AFTER DELETE ON translated.entry DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW WHEN (OLD.key = 'k1') EXECUTE FUNCTION translated.fail()`)
	require.NoError(t, err)
	applied, err := b.Finish(short(t), w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, applied)
}

// While the disk is full, every outcome fails, and trying each alone is useless.
func TestFullDiskRejectsNoSingleOutcome(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "fulldisk")})
	w, rows := claimed(t, b, 2)
	_, err := pool.Exec(ctx, `CREATE FUNCTION fulldisk.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON fulldisk.dead FOR EACH ROW EXECUTE FUNCTION fulldisk.fail()`)
	require.NoError(t, err)
	_, err = b.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref(), Fate: backend.Bury}, {Ref: rows[1].Ref(), Fate: backend.Bury}})
	require.ErrorIs(t, err, backend.ErrFull)
}

// A worker keeps rejected outcomes beyond the bound, and hears that the others are stored.
func TestTooManyRejectedOutcomesLeaveTheOthers(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "toomany")})
	w, rows := claimed(t, b, 3)
	_, err := pool.Exec(ctx, "ALTER TABLE toomany.dead ADD CONSTRAINT c CHECK (key <> 'k1')")
	require.NoError(t, err)
	b.RejectMany()
	var outcomes []backend.Outcome
	for _, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Bury})
	}
	applied, err := b.Finish(ctx, w, outcomes)
	require.ErrorContains(t, err, "k1")
	require.Equal(t, []bool{true, false, true}, applied)
}

// Otherwise the entry fires again, although the database would accept its outcome by then.
func TestRejectedOutcomeIsTriedOnceMoreAtTheEnd(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t, "")
	b := open(t, pool, postgres.Options{Schema: fresh(t, "last")})
	w, rows := claimed(t, b, 2)
	_, err := pool.Exec(ctx, "ALTER TABLE last.dead ADD CONSTRAINT c CHECK (key <> 'k0'), ADD CONSTRAINT d CHECK (key <> 'k1')")
	require.NoError(t, err)
	_, err = b.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref(), Fate: backend.Bury}, {Ref: rows[1].Ref(), Fate: backend.Bury}})
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "ALTER TABLE last.dead DROP CONSTRAINT c")
	require.NoError(t, err)
	_, err = b.Heartbeat(ctx, w, 0)
	require.NoError(t, err)
	again, err := b.Adopt(ctx, register(t, b), nil, 10)
	require.NoError(t, err)
	require.Len(t, again, 1)
	require.Equal(t, "k1", again[0].Key)
}
