package postgres

import (
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// clock is the database's time in nanoseconds. now() is the start of the transaction.
const clock = "(extract(epoch FROM clock_timestamp()) * 1000000000)::int8"

// recent is the number of generations for which a version is recent. An operation that
// takes longer than that many others takes new generations.
const recent = 10_000

// planning are the settings for the statements of the backend. Statements on few rows must use an index in its order,
// whatever the planner believes of a table that has just been filled: no scan of the table, no
// join that reads all of the table, and no sort of all rows within the lead for one batch of them. The planner then
// overestimates the reading of a sequence, and would compile it.
//
// The server plans a prepared statement once, for all arguments, unless the role has another plan_cache_mode. No statement may
// need the value of an argument to use an index.
//
// With row_security off, a statement fails instead of passing over rows that are hidden from the role.
const planning = `set_config('jit', 'off', true), set_config('row_security', 'off', true),
	set_config('plan_cache_mode', CASE WHEN current_setting('plan_cache_mode') = 'auto' THEN 'force_generic_plan' ELSE current_setting('plan_cache_mode') END, true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_tidscan', 'on', true),
	set_config('enable_nestloop', 'on', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// named are the rows that the first two parameters name. With an OR for the two slots, the index finds
// rows by their keys only, and the planner expects many rows per key in a table without statistics.
// Statements that find rows by their keys write (e.holder + 0): the index of holders would find all rows of a worker.
const named = `{s}.entry e JOIN unnest($1::bytea[], $2::int8[]) WITH ORDINALITY r (key, generation, n)
	ON e.key = r.key AND e.slot = ANY(ARRAY[0::int8, r.generation]) AND e.generation = r.generation`

// lockIf and lockEnd enclose a condition on the rows that the first two parameters name. The statement l locks the rows that
// meet the condition, and passes over rows that another transaction has locked. Each row costs one search of the index, which
// reads all rows of the key. A condition with an array of slots costs two searches.
//
// The ctid names the locked version, so that the rest of the statement needs no second search. If another transaction committed
// this version after the statement began, the statement cannot see it: the row counts as locked. The generation distinguishes
// the rows of tables that inherit from this one.
const (
	lockIf = `WITH l AS (SELECT e.ctid, r.generation, r.n FROM unnest($1::bytea[], $2::int8[]) WITH ORDINALITY r (key, generation, n)
		CROSS JOIN LATERAL (SELECT ctid FROM {s}.entry WHERE key = r.key AND (slot = 0 OR slot = r.generation)
			AND generation = r.generation AND (`
	lockEnd = `) FOR UPDATE SKIP LOCKED) e) `
)

// firing is whether the worker of a claimed row lives. now() is the start of the transaction: a
// snapshot may miss renewals since then. For an EXISTS, the database might read all workers first.
const firing = `e.state = 1 AND coalesce((SELECT w.until > (extract(epoch FROM now()) * 1000000000)::int8
	FROM {s}.worker w WHERE w.id = e.holder), false)`

// paused is whether a row of e is paused. Without any pause, the database looks once per statement.
const paused = `(EXISTS (SELECT FROM {s}.pause) AND EXISTS (SELECT FROM {s}.pause p
	WHERE substr(e.key, 1, octet_length(p.prefix)) = p.prefix AND (p.grp = '' OR p.grp = e.grp)))`

// covered is whether a pause has all rows of a lane q: the lane reads no row then.
const covered = `(EXISTS (SELECT FROM {s}.pause) AND EXISTS (SELECT FROM {s}.pause p
	WHERE substr(q.kind, 1, octet_length(p.prefix)) = p.prefix AND (p.grp = '' OR p.grp = q.grp)))`

// withinBudget are the rows of f, in order, up to the first row behind $4 bytes of payloads.
const withinBudget = `b AS (SELECT key, slot, sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS before FROM f),
	l AS (SELECT key, slot FROM b WHERE before < $4)`

// filled returns a function that fills in the placeholders of a statement. {s} stands for the
// schema, {cols} for the columns, {e.cols} for the columns of e, {rows} for arrays of all columns,
// {named}, {firing}, {paused}, and {covered} for the constants of these names, {budget} for withinBudget, and {clock} for the time.
// {s.name} is a sequence or a table as a literal. The function qualifies names if qualify is set.
func filled(schema string, qualify bool) func(sql string) string {
	s := pgx.Identifier{schema}.Sanitize()
	parts := strings.NewReplacer("{cols}", columnList(""), "{e.cols}", columnList("e."), "{n.cols}", columnList("n."),
		"{rows}", columnArrays(), "{named}", named, "{firing}", firing, "{paused}", paused, "{covered}", covered, "{clock}", clock, "{budget}", withinBudget, "{recent}", fmt.Sprint(recent),
		"{kind}", "substr(key, 1, position(key, decode('2f', 'hex')))", "{has kind}", "position(key, decode('2f', 'hex')) > 0")
	names := []string{"{s}", s}
	for _, name := range []string{"generation", "removal", "witness", "worker_id_seq", "meta", "entry", "dead", "worker", "pause", "limits", "permit"} {
		names = append(names, "{s."+name+"}", "'"+strings.ReplaceAll(s+"."+name, "'", "''")+"'::pg_catalog.regclass")
	}
	literals := strings.NewReplacer(names...)
	return func(sql string) string {
		sql = parts.Replace(parts.Replace(sql)) // parts contain others
		if qualify {
			sql = qualified(sql)
		}
		return literals.Replace(sql)
	}
}

// forSchema returns a function that fills in and qualifies statements.
func forSchema(schema string) func(sql string) string {
	fill := filled(schema, true)
	var texts sync.Map // by statement
	return func(sql string) string {
		text, ok := texts.Load(sql)
		if !ok {
			text, _ = texts.LoadOrStore(sql, fill(sql))
		}
		return text.(string)
	}
}

// Rows of keys.
const (
	// lockKeysSQL locks main rows, in key order. Insertions are in key order, too. A row that
	// another transaction is changing is read after the change: every change of a row's slot is an
	// UPDATE, which the lock follows.
	//
	// Only then may a transaction lock detached rows, by lockDetachedSQL, so that two operations on
	// one key never wait for each other. A transaction that has found no main row inserts one
	// first: the insertion waits for insertions of others, which may hold the main row and need the
	// detached rows.
	lockKeysSQL     = `SELECT {e.cols}, {firing} FROM {s}.entry e WHERE e.key = ANY($1::bytea[]) AND e.slot = 0 ORDER BY e.key FOR UPDATE OF e`
	detachedSQL     = `SELECT {e.cols}, {firing} FROM {s}.entry e WHERE e.key = ANY($1::bytea[]) AND e.slot <> 0 ORDER BY e.key, e.slot`
	lockDetachedSQL = detachedSQL + ` FOR UPDATE OF e`

	lockDeadSQL = `SELECT {e.cols}, e.error, e.given_up FROM {s}.dead e JOIN unnest($1::bytea[], $2::int8[]) r (key, generation)
		ON e.key = r.key AND e.generation = r.generation ORDER BY e.key, e.generation FOR UPDATE OF e`
	lockedKeysSQL = `WITH free AS (SELECT key FROM {s}.entry WHERE key = ANY($1::bytea[]) FOR UPDATE SKIP LOCKED)
		SELECT key FROM {s}.entry WHERE key = ANY($1::bytea[]) EXCEPT ALL SELECT key FROM free`
	generationsSQL = `SELECT nextval({s.generation}), {clock} FROM generate_series(1, $1::int4)`

	// Sequences ignore transactions. The removal of a recent version is counted before its
	// COMMIT, so that a transaction that reads the key as absent also reads the new count.
	removalsSQL = `SELECT coalesce(pg_sequence_last_value({s.removal}), 0),
		coalesce(pg_sequence_last_value({s.generation}), 0)`
	countRemovalSQL = `SELECT nextval({s.removal}) WHERE $1::int8 > (pg_sequence_last_value({s.generation}) - {recent})`

	insertSQL = `INSERT INTO {s}.entry ({cols}) SELECT * FROM unnest({rows}) n ({cols}) ORDER BY key, slot
		ON CONFLICT (key, slot) DO NOTHING RETURNING slot`
	detachSQL = `UPDATE {s}.entry e SET slot = e.generation FROM unnest($1::bytea[], $2::int8[]) r (key, generation)
		WHERE e.key = r.key AND e.slot = 0 AND e.generation = r.generation`
	updateSQL = `UPDATE {s}.entry e SET ({cols}) = ROW({n.cols})
		FROM unnest({rows}, $19::int8[]) n ({cols}, old) WHERE e.key = n.key AND e.slot = n.old`
	removeSQL = `DELETE FROM {s}.entry e USING unnest($1::bytea[], $2::int8[]) r (key, slot)
		WHERE e.key = r.key AND e.slot = r.slot`
	burySQL = `INSERT INTO {s}.dead ({cols}, error, given_up) SELECT * FROM unnest({rows}, $19::bytea[], $20::int8[])
		ON CONFLICT (key, generation) DO NOTHING RETURNING key, generation`
	removeDeadSQL = `DELETE FROM {s}.dead e USING unnest($1::bytea[], $2::int8[]) r (key, generation)
		WHERE e.key = r.key AND e.generation = r.generation`

	planningSQL = `SELECT ` + planning
	getSQL      = `SELECT {cols} FROM {s}.entry WHERE key = $1 AND slot = 0`

	// Pages end at the latest with the row at which their payloads reach $4 bytes. Of a table without statistics, the planner
	// expects one in 200 rows if a column is equal to a value, and would sort all rows of a prefix.
	pageSQL = `SELECT {cols} FROM (SELECT *, sum(octet_length(payload)) OVER (ORDER BY key, slot ROWS UNBOUNDED PRECEDING) - octet_length(payload) AS before
		FROM {s}.entry WHERE (key, slot) > ($1::bytea, $2::int8) AND key < $3 AND state <= CASE WHEN $6 THEN 32767 ELSE 0 END
		ORDER BY key, slot LIMIT $5) p WHERE before < $4 ORDER BY key, slot`
	deadPageSQL = `SELECT {cols}, error, given_up FROM (SELECT *, sum(octet_length(payload)) OVER (ORDER BY key, generation ROWS UNBOUNDED PRECEDING) - octet_length(payload) AS before
		FROM {s}.dead WHERE (key, generation) > ($1::bytea, $2::int8) AND key < $3
		ORDER BY key, generation LIMIT $5) p WHERE before < $4 ORDER BY key, generation`
)

// Workers.
const (
	registerSQL = `INSERT INTO {s}.worker (until, limits) SELECT {clock} + $1, coalesce(max(version), 0) FROM {s}.limits RETURNING id`
	renewSQL    = `UPDATE {s}.worker SET until = ({clock} + $2) WHERE id = $1 AND until > {clock} RETURNING id`
	endLeaseSQL = `UPDATE {s}.worker SET until = 0 WHERE id = $1 AND until > {clock} RETURNING id`
	forgetSQL   = `WITH w AS (DELETE FROM {s}.worker w WHERE w.until < ({clock} - 3600000000000)
			AND NOT EXISTS (SELECT FROM {s}.entry e WHERE e.holder = w.id AND e.holder <> 0) RETURNING id)
		DELETE FROM {s}.permit WHERE worker = ANY(ARRAY (SELECT id FROM w))`

	// Transactions that lease, claim, or adopt share a lock, which Pause takes for itself: once
	// Pause has returned, all such transactions have ended or see the pause. The lock is not a lock
	// of the table: claims would wait for a copy of the table.
	sharePausesSQL = `SELECT pg_advisory_xact_lock_shared(hashtextextended('hwt pauses:' || $1, 0))`
	lockPausesSQL  = `SELECT pg_advisory_xact_lock(hashtextextended('hwt pauses:' || $1, 0))`
	pauseSQL       = `INSERT INTO {s}.pause (prefix, grp, reason, actor, since) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (prefix, grp) DO UPDATE SET (reason, actor, since) = ROW(EXCLUDED.reason, EXCLUDED.actor, EXCLUDED.since)`
	resumeSQL = `DELETE FROM {s}.pause WHERE prefix = $1 AND grp = $2 RETURNING since`
	pausesSQL = `SELECT prefix, grp, reason, actor, since FROM {s}.pause ORDER BY prefix, grp`

	// Each version is greater than all earlier versions: SetLimit takes the version under a
	// lock.
	lockVersionSQL = `SELECT pg_advisory_xact_lock(hashtextextended('hwt limits:' || $1, 0))`
	setLimitSQL    = `INSERT INTO {s}.limits AS l (prefix, grp, running, per_second, burst, version) VALUES ($1, $2, $3, $4, $5, nextval({s.generation}))
		ON CONFLICT (prefix, grp) DO UPDATE SET (running, per_second, burst, version, busy) = ROW(EXCLUDED.running, EXCLUDED.per_second, EXCLUDED.burst, EXCLUDED.version,
			CASE WHEN EXCLUDED.per_second > 0 AND EXCLUDED.per_second < l.per_second AND l.busy > {clock}
				THEN {clock} + least((l.busy - {clock}) * (l.per_second / EXCLUDED.per_second), 4e18)::int8 ELSE l.busy END)`
	removeLimitSQL   = `DELETE FROM {s}.limits WHERE prefix = $1 AND grp = $2 RETURNING version`
	removePermitsSQL = `DELETE FROM {s}.permit WHERE prefix = $1 AND grp = $2`
	versionSQL       = `SELECT coalesce(max(version), 0), count(*) FROM {s}.limits`
	unawareSQL       = `SELECT count(*) FROM {s}.worker WHERE until > {clock} AND limits < $1`
	limitsSQL        = `SELECT l.prefix, l.grp, l.running, l.per_second, l.burst, coalesce(p.held, 0), coalesce(p.wants, 0)
		FROM {s}.limits l CROSS JOIN LATERAL (SELECT sum(p.held) AS held, sum(p.wants) AS wants FROM {s}.permit p
			JOIN {s}.worker w ON w.id = p.worker WHERE p.prefix = l.prefix AND p.grp = l.grp AND w.until > {clock}) p ORDER BY l.prefix, l.grp`

	// A call of Share locks the limits in order, and then deletes the permits of workers without a
	// lease: the lock of such a worker's row waits for a renewal under way. endPermitsSQL
	// compares (p.worker + 0), so that the index finds the permits of a limit in one search. With p.worker, the database would
	// search once per limit and ended worker.
	awareSQL      = `UPDATE {s}.worker SET limits = $2 WHERE id = $1 AND limits <> $2`
	lockLimitsSQL = `SELECT l.prefix, l.grp, l.running, l.per_second, l.burst, l.busy, {clock} FROM {s}.limits l
		JOIN unnest($1::bytea[], $2::bytea[]) d (prefix, grp) ON l.prefix = d.prefix AND l.grp = d.grp ORDER BY l.prefix, l.grp FOR UPDATE OF l`
	endPermitsSQL = `WITH d AS (SELECT * FROM unnest($1::bytea[], $2::bytea[]) d (prefix, grp)),
		e AS (SELECT w.id FROM {s}.worker w WHERE w.until <= {clock} AND w.id = ANY(ARRAY (SELECT p.worker FROM d
				JOIN {s}.permit p ON p.prefix = d.prefix AND p.grp = d.grp)) ORDER BY w.id FOR NO KEY UPDATE OF w)
		DELETE FROM {s}.permit p USING d WHERE p.prefix = d.prefix AND p.grp = d.grp AND (p.worker + 0) = ANY(ARRAY (SELECT id FROM e))`
	permitsSQL = `WITH d AS (SELECT l.prefix, l.grp, l.version FROM unnest($1::bytea[], $2::bytea[]) d (prefix, grp) JOIN {s}.limits l ON l.prefix = d.prefix AND l.grp = d.grp),
		w AS MATERIALIZED (SELECT id, limits, until > {clock} AS live FROM {s}.worker WHERE id <> $3 AND (until > {clock}
			OR id = ANY(ARRAY (SELECT p.worker FROM d JOIN {s}.permit p ON p.prefix = d.prefix AND p.grp = d.grp))))
		SELECT d.prefix, d.grp, w.id, coalesce(p.held, 0), coalesce(p.wants, 0), w.limits < d.version AND w.live
		FROM d CROSS JOIN w LEFT JOIN {s}.permit p ON p.prefix = d.prefix AND p.grp = d.grp AND p.worker = w.id
		WHERE p.worker IS NOT NULL OR w.limits < d.version AND w.live`
	putPermitsSQL = `INSERT INTO {s}.permit (prefix, grp, worker, held, wants)
		SELECT d.prefix, d.grp, $3::int4, d.held, d.wants FROM unnest($1::bytea[], $2::bytea[], $4::int8[], $5::int8[]) d (prefix, grp, held, wants)
		ON CONFLICT (prefix, grp, worker) DO UPDATE SET (held, wants) = ROW(EXCLUDED.held, EXCLUDED.wants)`
	putBusySQL = `UPDATE {s}.limits l SET busy = d.busy FROM unnest($1::bytea[], $2::bytea[], $3::int8[]) d (prefix, grp, busy)
		WHERE l.prefix = d.prefix AND l.grp = d.grp AND l.busy <> d.busy`

	// The lock keeps the worker's row until the transaction ends, and lets heartbeats pass.
	presentSQL = `SELECT id FROM {s}.worker WHERE id = $1 AND until > {clock} FOR KEY SHARE`

	// Holders of rows with an ended lease, found by skipping through the index.
	endedWorkersSQL = `WITH RECURSIVE h AS ((SELECT holder FROM {s}.entry WHERE holder <> 0 ORDER BY holder LIMIT 1)
			UNION ALL SELECT (SELECT e.holder FROM {s}.entry e WHERE e.holder <> 0 AND e.holder > h.holder
				ORDER BY e.holder LIMIT 1) FROM h WHERE h.holder IS NOT NULL)
		SELECT holder FROM h WHERE holder IS NOT NULL
			AND NOT EXISTS (SELECT FROM {s}.worker w WHERE w.id = h.holder AND w.until > {clock})`
)

// Leases, claims, and outcomes.
const (
	// Payloads end a batch at $4 bytes: see withinBudget. Overdue one-shots are claimed in the same
	// statement. leaseSQL leases rows of all kinds by the index entry_due, and leaseKindsSQL rows of
	// single kinds by entry_kind: holder < 1 is holder = 0, from which the planner would take entry_due.
	leaseSQL      = leaseFrom + `holder = 0` + leaseTo
	leaseKindsSQL = leaseFrom + `holder < 1 AND {has kind} AND {kind} = q.kind` + leaseTo
	leaseFrom     = `WITH f AS (SELECT r.key, r.slot, r.size FROM
			unnest($7::bytea[], $8::bytea[], $9::int8[], $5::int8[], $10::int8[], $11::int4[], $12::int4[]) q (kind, grp, after, upto, most, first, last)
			CROSS JOIN LATERAL (SELECT key, slot, octet_length(payload) AS size FROM {s}.entry e
				WHERE due >= q.after AND due <= q.upto AND (schedule = '' OR schedule = ANY($6::bytea[]))
				AND (q.grp IS NULL OR e.grp = q.grp) AND (q.last < q.first OR NOT (e.grp = ANY(($13::bytea[])[q.first:q.last]))) AND NOT {paused} AND `
	leaseTo = ` ORDER BY due LIMIT least(q.most, $2) OFFSET $3 FOR UPDATE OF e SKIP LOCKED) r WHERE NOT {covered}), {budget}
		UPDATE {s}.entry e SET (holder, state) = ROW($1,
			CASE WHEN e.due <= {clock} AND e.every = '' AND e.not_after = 0 AND e.crashes = 0 AND NOT $14 THEN 1 ELSE 0 END)
		FROM l WHERE e.key = l.key AND e.slot = l.slot AND (e.holder + 0) = 0 RETURNING {e.cols}`
	// lookSQL finds the rows that lanes may look at: up to $4 of each lane.
	lookSQL      = lookFrom + `holder = 0` + lookTo
	lookKindsSQL = lookFrom + `holder < 1 AND {has kind} AND {kind} = q.kind` + lookTo
	lookFrom     = `SELECT q.n, count(*), max(r.due) FROM unnest($1::bytea[], $2::int8[]) WITH ORDINALITY q (kind, after, n)
			CROSS JOIN LATERAL (SELECT due FROM {s}.entry WHERE due >= q.after AND due <= $3 AND `
	lookTo   = ` ORDER BY due LIMIT $4) r GROUP BY q.n`
	adoptSQL = `WITH f AS (SELECT key, slot, octet_length(payload) AS size FROM {s}.entry e WHERE holder = $5 AND holder <> 0 AND state = 1 AND NOT {paused}
				AND (cardinality($6::bytea[]) = 0 OR {kind} = ANY($6)) LIMIT $2 OFFSET $3 FOR UPDATE OF e SKIP LOCKED), {budget}
		UPDATE {s}.entry e SET (holder, crashes) = ROW($1, CASE WHEN e.crashes > 0 THEN e.crashes ELSE least(1 - e.crashes, 32767) END) FROM l
		WHERE e.key = l.key AND e.slot = l.slot AND (e.holder + 0) = $5 AND e.state = 1 RETURNING {e.cols}`
	overdueSQL = `SELECT DISTINCT ON ({kind}, schedule) key, due, schedule
		FROM (SELECT key, due, schedule, grp FROM {s}.entry WHERE holder = 0 AND due < $1 ORDER BY due LIMIT $2) e
		WHERE NOT {paused} ORDER BY {kind}, schedule, due, key`
	freeSQL = `WITH l AS (SELECT key, slot FROM {s}.entry WHERE holder = $1 AND holder <> 0 AND state = 0
			LIMIT $2 OFFSET $3 FOR UPDATE SKIP LOCKED)
		UPDATE {s}.entry e SET holder = 0 FROM l
		WHERE e.key = l.key AND e.slot = l.slot AND (e.holder + 0) = $1 AND e.state = 0 RETURNING e.slot`
	unleaseSQL = `WITH l AS (SELECT e.key, e.slot, e.holder, r.n FROM {named}
			WHERE e.state = 0 AND (e.holder + 0) = ($3::int8[])[r.n] ORDER BY e.key, e.slot FOR UPDATE OF e SKIP LOCKED)
		UPDATE {s}.entry e SET holder = 0 FROM l
		WHERE e.key = l.key AND e.slot = l.slot AND e.state = 0 AND (e.holder + 0) = l.holder RETURNING l.n`
	unclaimSQL = `UPDATE {s}.entry e SET state = 0 FROM unnest($1::bytea[], $2::int8[]) r (key, slot)
		WHERE e.key = r.key AND e.slot = r.slot AND (e.holder + 0) = $3`

	// Positions in the arrays are returned, which are shorter than keys. The pauses are looked up behind the
	// look at the rows: as a condition of it, their expected cost makes the planner read the whole table.
	claimSQL = lockIf + `state = 0` + lockEnd + `
		UPDATE {s}.entry e SET (state, holder) = ROW(1, $3) FROM l
		WHERE e.ctid = l.ctid AND e.generation = l.generation AND e.state = 0 AND NOT {paused} RETURNING l.n`
	claimAgainSQL = `WITH l AS (SELECT e.key, e.slot, r.n FROM {named}
			WHERE e.state = 1 AND (e.holder + 0) = $3 ORDER BY e.key, e.slot FOR UPDATE OF e SKIP LOCKED)
		UPDATE {s}.entry e SET crashes = -abs(e.crashes) FROM l
		WHERE e.key = l.key AND e.slot = l.slot AND e.state = 1 AND (e.holder + 0) = $3 RETURNING l.n`
	ownSQL = `SELECT r.n FROM {named} WHERE e.state = 1 AND (e.holder + 0) = $3`
	// See [backend.Outcome.Decide]. A row with crashes above 0 is adopted and not tried.
	doneSQL = lockIf + `state = 0 OR holder = $3 OR crashes > 0` + lockEnd + `
		DELETE FROM {s}.entry e USING l WHERE e.ctid = l.ctid AND e.generation = l.generation RETURNING l.n`

	pausedRowsSQL = `WITH l AS MATERIALIZED (SELECT e.key, e.grp, r.n FROM {named}) SELECT e.n FROM l e WHERE {paused}`
	lockClaimsSQL = `SELECT key FROM pg_catalog.unnest($1::bytea[]) k (key)
		WHERE NOT pg_try_advisory_xact_lock(hashtextextended('hwt:' || $2 || encode(key, 'hex'), 0))`
	claimedSQL = `SELECT key, generation FROM {s}.entry WHERE key = ANY($1::bytea[]) AND state = 1`

	// A locked row is left out.
	lastSQL = `WITH l AS (SELECT e.key, r.last FROM {s}.entry e JOIN unnest($1::bytea[], $2::bytea[], $3::bytea[]) r (key, every, last)
			ON e.key = r.key WHERE e.slot = 0 AND e.state = 0 AND e.every = r.every ORDER BY e.key FOR UPDATE OF e SKIP LOCKED)
		UPDATE {s}.entry e SET last = l.last FROM l WHERE e.key = l.key AND e.slot = 0`

	lockNamedSQL = `SELECT {e.cols} FROM {named} ORDER BY e.key, e.slot FOR UPDATE OF e`
	heldSQL      = `SELECT r.n FROM {named} WHERE e.state = 0 AND (e.holder + 0) = ($3::int8[])[r.n]`
	existingSQL  = `SELECT r.n FROM {named} WHERE e.state = 1 AND e.holder = $3 OR ($4::bool[])[r.n] AND (e.state = 0 OR e.crashes > 0)`
)

// Sizes.
const (
	countsSQL = `SELECT CASE WHEN n > $1 THEN greatest(n, (SELECT reltuples FROM pg_class WHERE oid = {s.entry})::int8)
			ELSE n END, claimed, dead, oldest FROM
		(SELECT (SELECT count(*) FROM (SELECT FROM {s}.entry WHERE holder = 0 LIMIT $1 + 1) p)
				+ (SELECT count(*) FROM {s}.entry WHERE holder <> 0 AND state = 0) AS n,
			(SELECT count(*) FROM {s}.entry WHERE holder <> 0 AND state = 1) AS claimed,
			(SELECT count(*) FROM (SELECT FROM {s}.dead LIMIT $1) d) AS dead,
			coalesce(least((SELECT due FROM (SELECT key, grp, due FROM {s}.entry WHERE holder = 0 ORDER BY due LIMIT 2 * $1) e
					WHERE NOT {paused} ORDER BY due LIMIT 1),
				(SELECT min(due) FROM {s}.entry WHERE holder <> 0 AND state = 0)), 0) AS oldest) c`
	countDueSQL = `SELECT (SELECT count(*) FROM (SELECT FROM (SELECT key, grp FROM {s}.entry WHERE holder = 0 AND due < $1 ORDER BY due LIMIT 2 * $2) e
			WHERE NOT {paused} LIMIT $2) p)
		+ (SELECT count(*) FROM {s}.entry WHERE holder <> 0 AND state = 0 AND due < $1)`
	countPausesSQL = `SELECT count(*) FROM {s}.pause`
	sizeSQL        = `SELECT sum(pg_total_relation_size(c.oid))::int8 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = ANY('{entry,dead,worker,meta,pause,limits,permit}')`
)

// Notifications. A channel has the name of its schema after "hwt:". The channel of echoes has the
// name of the process.
const (
	echoSQL       = `SELECT pg_notify($1, '')`
	notifySQL     = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`
	notifyNearSQL = `SELECT pg_notify($1, '') WHERE EXISTS
		(SELECT FROM pg_catalog.unnest($2::int8[]) d WHERE d <= ({clock} + $3::int8))`
)

// identify names the transaction, as [identity].
const identify = `SELECT pg_current_xact_id()::text, pg_backend_pid()`

// statements are all of the above, and the statement of each transaction that writes.
var statements = []string{
	lockKeysSQL, detachedSQL, lockDetachedSQL, lockDeadSQL, lockedKeysSQL, generationsSQL, removalsSQL,
	countRemovalSQL, insertSQL, detachSQL, updateSQL, removeSQL, burySQL, removeDeadSQL,
	getSQL, pageSQL, deadPageSQL, registerSQL, renewSQL, endLeaseSQL, forgetSQL,
	sharePausesSQL, lockPausesSQL, pauseSQL, resumeSQL, pausesSQL, lockVersionSQL, setLimitSQL, removeLimitSQL, removePermitsSQL, versionSQL, unawareSQL, limitsSQL,
	awareSQL, lockLimitsSQL, endPermitsSQL, permitsSQL, putPermitsSQL, putBusySQL, presentSQL, endedWorkersSQL, leaseSQL, leaseKindsSQL, lookSQL, lookKindsSQL, adoptSQL, overdueSQL, freeSQL, unleaseSQL, unclaimSQL,
	claimSQL, claimAgainSQL, ownSQL, doneSQL, lastSQL, pausedRowsSQL, lockClaimsSQL, claimedSQL, lockNamedSQL, heldSQL, existingSQL, countsSQL,
	countDueSQL, countPausesSQL, sizeSQL, echoSQL, notifySQL, notifyNearSQL,
	planningSQL, identify,
}

// columnArrays returns placeholders for arrays of all columns.
func columnArrays() string {
	var arrays []string
	for i, c := range columnNames {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, c.kind))
	}
	return strings.Join(arrays, ", ")
}
