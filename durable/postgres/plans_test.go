package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// plans are the plans of the statements that the connections of a pool have run, as auto_explain reports them.
type plans struct {
	mu   sync.Mutex
	some []explained     // since the last check. Guarded by mu.
	seen map[string]bool // texts of all statements. Guarded by mu.
}

type explained struct {
	Text string `json:"Query Text"`
	Plan step
	JIT  any
}

// step is a step of a plan.
type step struct {
	Type         string  `json:"Node Type"`
	Table        string  `json:"Relation Name"`
	Index        string  `json:"Index Name"`
	Rows         float64 `json:"Actual Rows"` // per loop, as the numbers of removed rows
	Loops        float64 `json:"Actual Loops"`
	Filtered     float64 `json:"Rows Removed by Filter"`
	Rechecked    float64 `json:"Rows Removed by Index Recheck"`
	JoinFiltered float64 `json:"Rows Removed by Join Filter"`
	Hit          float64 `json:"Shared Hit Blocks"`
	Read         float64 `json:"Shared Read Blocks"`
	Steps        []step  `json:"Plans"`
}

// explainingPool returns a pool whose connections report the plans of their statements. mode is a plan_cache_mode. The role of
// the connections forbids searches by ctid, outside of the transactions of the backend.
func explainingPool(t *testing.T, mode string) (*pgxpool.Pool, *plans) {
	t.Helper()
	plain := newPool(t, "")
	if _, err := plain.Exec(t.Context(), `LOAD 'auto_explain'`); err != nil {
		t.Skip(err)
	}
	p := &plans{seen: make(map[string]bool)}
	config := plain.Config()
	config.ConnConfig.OnNotice = p.note
	for name, value := range map[string]string{"session_preload_libraries": "auto_explain", "plan_cache_mode": mode, "enable_tidscan": "off",
		"auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off",
		"auto_explain.log_buffers": "on", "auto_explain.log_format": "json", "auto_explain.log_level": "notice"} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, p
}

func (p *plans) note(_ *pgconn.PgConn, n *pgconn.Notice) {
	_, text, found := strings.Cut(n.Message, "plan:\n")
	var e explained
	if !found || json.Unmarshal([]byte(text), &e) != nil {
		return // then the statement is missing in seen
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.some = append(p.some, e)
	p.seen[e.Text] = true
}

func (p *plans) saw(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[text]
}

// check fails the test if a step of a plan since the last check yields or rejects more than most rows, or reads more pages
// of a table than its rows and searches need.
func (p *plans) check(t *testing.T, most int) {
	t.Helper()
	p.mu.Lock()
	some := p.some
	p.some = nil
	p.mu.Unlock()
	for _, e := range some {
		if strings.HasPrefix(e.Text, "EXPLAIN") { // by Open
			continue
		}
		assert.Nil(t, e.JIT, e.Text)
		e.Plan.check(t, e.Text, float64(most))
	}
}

const (
	pagesPerRow = 10   // of a search of one row by an index, and of its versions
	pagesBeside = 1000 // of dead tuples, and of one scan of a whole index
)

func (s *step) check(t *testing.T, text string, most float64) {
	t.Helper()
	if strings.HasPrefix(s.Table, "pg_") { // a small one
		return
	}
	what := fmt.Sprintf("%s %s %s of\n%s", s.Type, s.Table, s.Index, text)
	rows := (s.Rows + s.Filtered + s.Rechecked + s.JoinFiltered) * s.Loops
	assert.LessOrEqual(t, rows, most, "rows: %s", what)
	if len(s.Steps) == 0 && s.Type != "CTE Scan" { // which has the pages of the steps of its CTE
		assert.LessOrEqual(t, s.Hit+s.Read, pagesPerRow*(rows+s.Loops)+pagesBeside, "pages for %v rows in %v loops: %s", rows, s.Loops, what)
	}
	for i := range s.Steps {
		s.Steps[i].check(t, text, most)
	}
}

// crowd are the rows of a store with many rows of every sort.
type crowd struct {
	rows    []backend.Row
	letters []*backend.Dead
	first   map[string]int // positions of the first rows of kinds
	since   int64          // due time of the first row
	pending int            // number of rows that nobody holds
}

const (
	ties      = 25_000 // rows with the same due time
	workers   = 2000   // whose leases have ended
	bounds    = 1000   // limits
	perWorker = 5      // permits
	rounds    = 4
	batch     = 400
)

// add adds n rows of a kind, each after a change.
func (c *crowd) add(kind string, n int, change func(i int, r *backend.Row)) {
	c.first[kind] = len(c.rows)
	for i := range n {
		g := uint64(len(c.rows) + 1)
		r := backend.Row{Key: fmt.Sprintf("%s%06d", kind, i), Generation: g, Origin: g, Attempt: 1, Nonce: 7, Due: c.since + int64(g)}
		if change(i, &r); r.Holder == 0 {
			c.pending++
		}
		c.rows = append(c.rows, r)
	}
}

// some returns n of the rows of a kind.
func (c *crowd) some(kind string, from, n int) []backend.Row {
	first := c.first[kind] + from
	return c.rows[first : first+n]
}

// newCrowd returns rows that the worker alive holds, that ended workers hold, and that nobody holds.
func newCrowd(alive int64, ended []int64) *crowd {
	c := &crowd{first: make(map[string]int), since: time.Now().Add(-time.Hour).UnixNano()}
	heldBy := func(worker int64, state backend.State) func(int, *backend.Row) {
		return func(_ int, r *backend.Row) { r.Holder, r.State = worker, state }
	}
	c.add("other/", 50_000, func(i int, r *backend.Row) {
		if r.Group = "big"; i < ties {
			r.Due = c.since
		}
	})
	c.add("mail/", 20_000, func(i int, r *backend.Row) {
		if r.Group = "big"; i%10 == 0 {
			r.Group = "small"
		}
	})
	c.add("planned/", 2000, func(i int, r *backend.Row) { r.Schedule = []string{"known", "unknown"}[i%2] })
	c.add("series/", 4000, func(_ int, r *backend.Row) { r.Every = "0 0 @every 1h" })
	c.add("later/", 10_000, func(_ int, r *backend.Row) { r.Due += int64(24 * time.Hour) })
	c.add("claimed/", 12_000, heldBy(alive, backend.Claimed))
	c.add("leased/", 5000, heldBy(alive, backend.Pending))
	c.add("serial/", 4000, func(i int, r *backend.Row) {
		r.Key = fmt.Sprintf("serial/%06d", i/2)
		if r.Detached = i%2 == 0; r.Detached {
			r.Holder, r.State = alive, backend.Claimed
		}
	})
	for i, worker := range ended {
		c.add(fmt.Sprintf("orphan%d/", i), 500, heldBy(worker, backend.Claimed))
		c.add(fmt.Sprintf("left%d/", i), 500, heldBy(worker, backend.Pending))
	}
	for i := range 15_000 {
		g := uint64(len(c.rows) + 1 + i)
		r := backend.Row{Key: fmt.Sprintf("dead/%06d", i), Generation: g, Origin: g, Attempt: 3, Nonce: 7, Due: c.since}
		if r.Detached = i%2 == 1; r.Detached {
			r.Every = "0 0 @every 1h"
		}
		c.letters = append(c.letters, &backend.Dead{Row: r, Error: "refused", GivenUp: c.since})
	}
	return c
}

// crowded returns a backend of a crowded store without statistics, its rows, and a worker that holds some.
func crowded(t *testing.T, pool *pgxpool.Pool) (c *crowd, alive int64) {
	t.Helper()
	ctx := t.Context()
	b := open(t, pool, postgres.Options{Schema: fresh(t, "crowded"), PollOnly: true})
	_, err := pool.Exec(ctx, `DO $$ DECLARE r record; BEGIN FOR r IN SELECT oid::regclass AS name FROM pg_class
		WHERE relnamespace = 'crowded'::regnamespace AND relkind = 'r' LOOP
		EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', r.name); END LOOP; END $$`)
	require.NoError(t, err)
	require.NoError(t, b.PrepareKinds(ctx))
	alive, err = b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	var ended []int64
	for range rounds {
		ended = append(ended, register(t, b))
	}
	c = newCrowd(alive, ended)
	require.NoError(t, b.Fill(ctx, c.rows, c.letters))
	_, err = pool.Exec(ctx, fmt.Sprintf(`SELECT setval('crowded.generation', 1000000);
		UPDATE crowded.worker SET until = CASE WHEN id = %d THEN until ELSE 1 END, limits = 1000000;
		INSERT INTO crowded.worker (until, limits) SELECT extract(epoch FROM now() - '10 min'::interval) * 1000000000, 0 FROM generate_series(1, %d);
		INSERT INTO crowded.limits SELECT convert_to('p' || n, 'UTF8'), '', 5, 0, 0, n FROM generate_series(1, %d) n;
		INSERT INTO crowded.permit SELECT convert_to('p' || 1 + (w.id * 7 + k * 97) %% %d, 'UTF8'), '', w.id, 1, 1
			FROM crowded.worker w, generate_series(1, %d) k WHERE w.limits = 0`, alive, workers, bounds, bounds, perWorker), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return c, alive
}

// The planner knows nothing of a table that has just been filled, and nothing of the arguments of a statement that it has
// planned for all arguments. No statement may read many rows for that: it would delay entries by seconds.
func TestStatementsReadOnlyTheirRows(t *testing.T) {
	plain := newPool(t, "")
	c, alive := crowded(t, plain)
	for round, analyzed := range []string{"", "", "ANALYZE", "ANALYZE"} {
		mode := []string{"force_custom_plan", "force_generic_plan"}[round%2]
		t.Run(mode+analyzed, func(t *testing.T) {
			pool, seen := explainingPool(t, mode)
			_, err := plain.Exec(t.Context(), analyzed)
			require.NoError(t, err)
			b := open(t, pool, postgres.Options{Schema: "crowded", PollOnly: true})
			s := &scene{Backend: b, ctx: t.Context(), pool: pool, plain: plain, seen: seen, crowd: c, round: round, alive: alive}
			for _, call := range s.calls() {
				t.Run(call.name, func(t *testing.T) {
					call.run(t)
					seen.check(t, call.most)
				})
			}
			for _, text := range b.StatementsOnTables() {
				assert.True(t, seen.saw(text), "no call has run %s", text)
			}
		})
	}
}

// call is a call of the backend, with the number of rows that a step of its plans may yield or reject.
type call struct {
	name string
	most int
	run  func(t *testing.T)
}

// scene calls a backend of a crowded store.
type scene struct {
	*postgres.Backend
	*crowd
	ctx    context.Context
	pool   *pgxpool.Pool
	plain  *pgxpool.Pool // whose plans are not checked
	seen   *plans
	round  int
	alive  int64
	worker int64
	leased []backend.Row
}

// calls returns calls that run every statement, in order.
func (s *scene) calls() []call {
	some := 2*batch + 100
	return []call{
		{"Open", bounds, func(*testing.T) {}},
		{"Tx", 50, s.inTx},
		{"Heartbeat", 2*workers + 100, s.heartbeat},
		{"Apply", some, s.apply},
		{"Lease", some, func(t *testing.T) {
			s.leased = s.lease(t, true, backend.Lane{Max: batch})
			require.Len(t, s.leased, batch)
		}},
		{"Claim", some, s.claim},
		{"Finish", some, s.finish},
		{"Claims of rows of others", some, s.claimInVain},
		{"Lease and claim", some, func(t *testing.T) { s.lease(t, false, backend.Lane{Max: batch}) }},
		{"Free", some, func(t *testing.T) { require.NoError(t, s.Free(s.ctx, s.worker)) }},
		{"Lease of kinds", some, func(t *testing.T) {
			require.Len(t, s.lease(t, true, backend.Lane{Kind: "mail/", Max: 50}, backend.Lane{Kind: "series/", Max: 50}, backend.Lane{Kind: "absent/", Max: 50}), 100)
		}},
		{"Lease of a group of a kind", backend.LookLimit, func(t *testing.T) {
			small := "small"
			require.Len(t, s.lease(t, true, backend.Lane{Kind: "mail/", Group: &small, Max: 50}), 50)
		}},
		{"Lease without a group", ties + backend.LookLimit, s.passOver},
		{"Lease of schedules", some, func(t *testing.T) { require.Len(t, s.lease(t, true, backend.Lane{Kind: "planned/", Max: 50}), 50) }},
		{"Claims of series", some, s.claimSeries},
		{"Claims of serial keys", some, s.claimSerial},
		{"Adopt", 4 * batch, s.adopt},
		{"unusual statements", some, func(t *testing.T) {
			require.NoError(t, s.Unusual(s.ctx, s.alive, s.some("claimed/", 5000+batch*s.round, batch)))
		}},
		{"Pause", some, func(t *testing.T) {
			require.NoError(t, s.Pause(s.ctx, backend.Pause{Scope: backend.Scope{Prefix: "nothing/"}}))
		}},
		{"Paused", some, func(t *testing.T) { s.must(s.Paused(s.ctx))(t) }},
		{"Lease beside a pause", some, func(t *testing.T) {
			s.leased = s.lease(t, true, backend.Lane{Max: batch})
			require.Len(t, s.leased, batch)
		}},
		{"Claim beside a pause", some, s.claim},
		{"Overdue beside a pause", backend.LookLimit, func(t *testing.T) { s.must(s.Overdue(s.ctx, time.Now().UnixNano()))(t) }},
		{"Stats beside a pause", s.pending + 4*batch, func(t *testing.T) { s.must(s.Stats(s.ctx, []int64{time.Now().UnixNano()}))(t) }},
		{"Lease of a paused kind", 50, func(t *testing.T) {
			require.NoError(t, s.Pause(s.ctx, backend.Pause{Scope: backend.Scope{Prefix: "mail/"}}))
			require.Empty(t, s.lease(t, true, backend.Lane{Kind: "mail/", Max: 50}))
			require.NoError(t, s.Resume(s.ctx, backend.Scope{Prefix: "mail/"}))
		}},
		{"Resume", some, func(t *testing.T) { require.NoError(t, s.Resume(s.ctx, backend.Scope{Prefix: "nothing/"})) }},
		{"Overdue", backend.LookLimit, func(t *testing.T) { s.must(s.Overdue(s.ctx, time.Now().UnixNano()))(t) }},
		{"Stats", s.pending + 4*batch, func(t *testing.T) { s.must(s.Stats(s.ctx, []int64{time.Now().UnixNano()}))(t) }},
		{"Get", 5, func(t *testing.T) { s.must(s.Get(s.ctx, "later/009999"))(t) }},
		{"Page", 50, func(t *testing.T) { s.must(s.Page(s.ctx, "later/0099", backend.Cursor{}, 10, false))(t) }},
		{"Page of claimed rows", 50, func(t *testing.T) {
			s.must(s.Page(s.ctx, "claimed/0099", backend.Cursor{Key: "claimed/009950"}, 10, true))(t)
		}},
		{"DeadPage", 50, func(t *testing.T) { s.must(s.DeadPage(s.ctx, "dead/0099", backend.Ref{}, 10))(t) }},
		{"Pages at the end of a prefix", 50, func(t *testing.T) {
			s.must(s.Page(s.ctx, "claimed/00991", backend.Cursor{}, 1000, true))(t)
			s.must(s.Page(s.ctx, "claimed/0099", backend.Cursor{Key: "claimed/009999"}, 1000, true))(t)
			s.must(s.DeadPage(s.ctx, "dead/00991", backend.Ref{}, 1000))(t)
			s.must(s.DeadPage(s.ctx, "dead/0099", backend.Ref{Key: "dead/009999"}, 1000))(t)
		}},
		{"Share", workers + 200, s.share},
		{"Limited", 2 * workers * perWorker, s.limit},
		{"Heartbeat at the end", 4 * batch, func(t *testing.T) { s.must(s.Heartbeat(s.ctx, s.worker, 0))(t) }},
	}
}

// must returns a function that fails the test on an error.
func (*scene) must(_ any, err error) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		require.NoError(t, err)
	}
}

// inTx calls the backend in a transaction of the caller, which has the settings of the database.
func (s *scene) inTx(t *testing.T) {
	later := time.Now().Add(time.Hour)
	letters := s.letters[14_000:]
	rollback := errors.New("roll back")
	err := pgx.BeginFunc(s.ctx, s.pool, func(tx pgx.Tx) error {
		v := s.View(tx)
		_, err := v.Apply(s.ctx, []backend.Op{
			set("later/005000", later), set("new/", later), set("claimed/010000", later), set("serial/001999", later),
			{Kind: backend.Move, Row: backend.Row{Key: "later/005001", Due: later.UnixNano()}},
			{Kind: backend.Cancel, Row: backend.Row{Key: "later/005002"}},
			{Kind: backend.Cancel, Row: backend.Row{Key: "serial/001998"}},
			{Kind: backend.Cancel, Row: backend.Row{Key: "absent"}},
			{Kind: backend.Requeue, Row: backend.Row{Key: letters[0].Key, Due: later.UnixNano()}, If: letters[0].Generation},
			{Kind: backend.Requeue, Row: backend.Row{Key: letters[1].Key, Due: later.UnixNano()}, If: letters[1].Generation},
			{Kind: backend.Discard, Row: backend.Row{Key: letters[2].Key}, If: letters[2].Generation},
		})
		require.NoError(t, err)
		claimed := s.some("claimed/", 10_001, 3)
		applied, err := v.Finish(s.ctx, s.alive, []backend.Outcome{{Ref: claimed[0].Ref()}, {Ref: claimed[1].Ref(), Fate: backend.Retry, Due: later.UnixNano()},
			{Ref: claimed[2].Ref(), Fate: backend.Bury, Error: "no"}})
		require.NoError(t, err)
		require.NotContains(t, applied, false)
		s.must(v.Get(s.ctx, "later/009999"))(t)
		s.must(v.Page(s.ctx, "later/0099", backend.Cursor{}, 10, false))(t)
		return rollback
	})
	require.ErrorIs(t, err, rollback)
}

// heartbeat registers a worker, and forgets others with their permits.
func (s *scene) heartbeat(t *testing.T) {
	_, err := s.plain.Exec(s.ctx, `WITH w AS (INSERT INTO crowded.worker (until) SELECT 2 FROM generate_series(1, 50) RETURNING id)
		INSERT INTO crowded.permit SELECT convert_to('p' || n, 'UTF8'), '', id, 1, 1 FROM w, generate_series(1, 5) n`)
	require.NoError(t, err)
	s.worker, err = s.Heartbeat(s.ctx, 0, time.Hour)
	require.NoError(t, err)
	s.must(s.Heartbeat(s.ctx, s.worker, time.Hour))(t)
	var left int
	require.NoError(t, s.plain.QueryRow(s.ctx, `SELECT count(*) FROM crowded.permit p JOIN crowded.worker w ON w.id = p.worker WHERE w.until = 2`).Scan(&left))
	require.Zero(t, left)
}

func (s *scene) apply(t *testing.T) {
	later := time.Now().Add(time.Hour)
	var ops []backend.Op
	for i := range batch / 8 {
		at := batch*s.round + i
		letters := s.letters[2*at : 2*at+2]
		ops = append(ops, set(fmt.Sprintf("later/%06d", at), later), set(fmt.Sprintf("new/%d/%d", s.round, i), later), set(fmt.Sprintf("claimed/%06d", at), later),
			backend.Op{Kind: backend.Move, Row: backend.Row{Key: fmt.Sprintf("later/%06d", at+6000), Due: later.UnixNano()}},
			backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: fmt.Sprintf("serial/%06d", at)}},
			backend.Op{Kind: backend.Requeue, Row: backend.Row{Key: letters[0].Key, Due: later.UnixNano()}, If: letters[0].Generation},
			backend.Op{Kind: backend.Requeue, Row: backend.Row{Key: letters[1].Key, Due: later.UnixNano()}, If: letters[1].Generation},
			backend.Op{Kind: backend.Discard, Row: backend.Row{Key: s.letters[at+10_000].Key}, If: s.letters[at+10_000].Generation})
	}
	for i, r := range apply(t, s.Backend, ops...) {
		require.NoError(t, r.Err, "%+v", ops[i])
	}
}

// lease leases rows of lanes, and claims them unless unclaimed is set.
func (s *scene) lease(t *testing.T, unclaimed bool, lanes ...backend.Lane) (rows []backend.Row) {
	leased, err := s.Lease(s.ctx, backend.LeaseRequest{Worker: s.worker, Until: time.Now().UnixNano(), Schedules: []string{"known"}, Unclaimed: unclaimed, Lanes: lanes})
	require.NoError(t, err)
	for _, lane := range leased {
		rows = append(rows, lane.Rows...)
	}
	return rows
}

func (s *scene) claim(t *testing.T) {
	answers, err := s.Claim(s.ctx, s.worker, claims(s.leased))
	require.NoError(t, err)
	require.NotContains(t, answers, backend.Overtaken)
}

// finish stores outcomes of claimed rows.
func (s *scene) finish(t *testing.T) {
	var outcomes []backend.Outcome
	for i, r := range s.leased {
		o := backend.Outcome{Ref: r.Ref(), Due: time.Now().Add(time.Hour).UnixNano()}
		if i >= batch/2 {
			o.Fate = backend.Retry + backend.Fate(i%2) // or Bury
		}
		outcomes = append(outcomes, o)
	}
	applied, err := s.Finish(s.ctx, s.worker, outcomes)
	require.NoError(t, err)
	require.NotContains(t, applied, false)
	applied, err = s.Finish(s.ctx, s.worker, outcomes) // the rows are gone
	require.NoError(t, err)
	require.NotContains(t, applied, true)
}

// claimInVain claims rows that another worker has claimed. The leases of such rows are given back later.
func (s *scene) claimInVain(t *testing.T) {
	answers, err := s.Claim(s.ctx, s.worker, claims(s.some("claimed/", 3000, batch)))
	require.NoError(t, err)
	require.NotContains(t, answers, backend.Won)
	require.Eventually(t, func() bool { return s.seen.saw(s.HeldText()) }, time.Minute, time.Millisecond)
}

// passOver leases the rows of a small group behind the rows of a big one. Many of them have the same due time.
func (s *scene) passOver(t *testing.T) {
	lane := backend.Lane{Without: []string{"big", ""}, Max: 50}
	for range (len(s.rows) + backend.LookLimit - 1) / backend.LookLimit {
		leased, err := s.Lease(s.ctx, backend.LeaseRequest{Worker: s.worker, Until: time.Now().UnixNano(), Unclaimed: true, Lanes: []backend.Lane{lane}})
		require.NoError(t, err)
		if len(leased[0].Rows) > 0 {
			require.Len(t, leased[0].Rows, 50)
			return
		}
		require.Greater(t, leased[0].Reached.Due, lane.After.Due)
		lane.After = leased[0].Reached
	}
	require.Fail(t, "no look has reached the rows of the small group")
}

// claimSeries claims occurrences, and stores the outcomes of their series.
func (s *scene) claimSeries(t *testing.T) {
	rows := s.some("series/", batch*s.round, batch)[100:200] // behind those that were leased
	answers, err := s.Claim(s.ctx, s.worker, claims(rows))
	require.NoError(t, err)
	require.NotContains(t, answers, backend.Overtaken)
	var outcomes []backend.Outcome
	for _, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Last: "last", Every: r.Every})
	}
	applied, err := s.Finish(s.ctx, s.worker, outcomes)
	require.NoError(t, err)
	require.NotContains(t, applied, false)
}

// claimSerial claims rows of keys with another claimed row.
func (s *scene) claimSerial(t *testing.T) {
	var all []backend.Claim
	for _, r := range s.some("serial/", 2000+200*s.round, 200) {
		if !r.Detached {
			all = append(all, backend.Claim{Ref: r.Ref(), Busy: backend.Wait})
		}
	}
	answers, err := s.Claim(s.ctx, s.worker, all)
	require.NoError(t, err)
	for _, a := range answers {
		require.Equal(t, backend.Waits, a)
	}
}

// adopt takes over the rows of ended workers, except rows of kinds without a handler.
func (s *scene) adopt(t *testing.T) {
	kind := fmt.Sprintf("orphan%d/", s.round)
	rows, err := s.Adopt(s.ctx, s.worker, []string{kind}, batch)
	require.NoError(t, err)
	require.Len(t, rows, batch)
	var again []backend.Claim
	for _, r := range rows {
		again = append(again, backend.Claim{Ref: r.Ref(), Again: true})
	}
	answers, err := s.Claim(s.ctx, s.worker, again)
	require.NoError(t, err)
	require.NotContains(t, answers, backend.Overtaken)
}

// share shares limits of which ended workers have permits.
func (s *scene) share(t *testing.T) {
	var demands []backend.Demand
	for i := range 20 {
		demands = append(demands, backend.Demand{Scope: backend.Scope{Prefix: fmt.Sprint("p", 100+20*s.round+i)}, Wants: 9})
	}
	grants, err := s.Share(s.ctx, s.worker, 1_000_000, demands)
	require.NoError(t, err)
	for _, g := range grants {
		require.Equal(t, 5, g.Held, "permits that ended workers had")
	}
}

func (s *scene) limit(t *testing.T) {
	require.NoError(t, s.SetLimit(s.ctx, backend.Limit{Scope: backend.Scope{Prefix: "new"}, Running: 5}))
	all, err := s.Limited(s.ctx, backend.Version{})
	require.NoError(t, err)
	require.Len(t, all.Limits, bounds+1)
	require.NoError(t, s.RemoveLimit(s.ctx, backend.Scope{Prefix: "new"}))
}
