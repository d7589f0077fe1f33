package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

func TestMain(m *testing.M) {
	runRoles()
	if os.Getenv("HWTDURABLE_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// hwtdurable runs a command and returns its status and output.
func hwtdurable(t *testing.T, args ...string) (status int, out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var o, l bytes.Buffer
	status = run(ctx, args, &o, &l)
	return status, o.String(), l.String()
}

// succeed runs a command that must succeed and returns its output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	status, out, log := hwtdurable(t, args...)
	require.Zero(t, status, "%v: %s", args, log)
	return out
}

var due = time.Date(2100, 1, 2, 3, 4, 5, 6, time.UTC)

// newStore fills a store: an entry, a recurring entry, a dead letter of an occurrence of
// it, a retry of a replaced entry beside its replacement, and a dead letter.
func newStore(t *testing.T, where place.Place) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := where.Open(ctx, false)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Set(ctx, durable.Entry{Key: "order-1", Due: due, NotAfter: due.Add(time.Hour), Payload: []byte("pay")})
	require.NoError(t, err)
	_, err = s.Set(ctx, durable.Entry{Key: "report", Due: due, Payload: []byte("send"), Every: durable.Every{Spec: "@every 5m"},
		Group: "tenant", Headers: map[string]string{"trace": "1"}})
	require.NoError(t, err)
	for _, key := range []string{"lost", "late"} {
		_, err = s.Set(ctx, durable.Entry{Key: key, Due: time.Now(), Payload: []byte(key)})
		require.NoError(t, err)
	}
	work, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- s.Work(work, func(_ context.Context, f durable.Firing) error {
			if f.Key == "late" { // replaced while its handler runs
				_, err := s.Set(ctx, durable.Entry{Key: "late", Due: due, Payload: []byte("again")})
				return errors.Join(err, durable.RetryAfter(time.Hour))
			}
			return durable.GiveUp(errors.New("no such order"))
		}, nil)
	}()
	require.Eventually(t, func() bool { st, _ := s.Stats(t.Context()); return st.GivenUp == 1 && st.Retried == 1 }, 20*time.Second, 10*time.Millisecond)
	end()
	require.NoError(t, <-done)
}

func startServer(t *testing.T) *pgtest.Server {
	server, err := pgtest.Start(t.Context(), nil)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() }) // it is private
	return server
}

// contents returns the output of list and dead without generations, which a copy changes.
func contents(t *testing.T, flags ...string) (lines []map[string]any) {
	t.Helper()
	out := succeed(t, append([]string{"list", "--json"}, flags...)...) + succeed(t, append([]string{"dead", "--json"}, flags...)...)
	for line := range strings.Lines(out) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		delete(fields, "generation")
		delete(fields, "given_up")
		lines = append(lines, fields)
	}
	return lines
}

func TestOperatorsSeeAndChangeEntries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	before := sum(t, file)
	require.Contains(t, succeed(t, "list", "--store", file), `"order-1"  generation`)
	require.Contains(t, succeed(t, "list", "rep", "--store", file), `"@every 5m"  group "tenant"  4 bytes`)
	require.Contains(t, succeed(t, "list", "rep", "--json", "--store", file), `"group":"tenant","headers":{"trace":"1"}`)
	require.NotContains(t, succeed(t, "list", "rep", "--store", file), "order-1")
	require.Contains(t, succeed(t, "get", "order-1", "--store", file), "2100-01-02T03:04:05.000000006Z")
	require.Contains(t, succeed(t, "dead", "--store", file), `no such order"`)
	require.Contains(t, succeed(t, "stats", "--store", file), "pending 4, claimed 0, dead 1, pauses 0")
	require.Contains(t, succeed(t, "verify", "--store", file), "4 entries and 1 dead letters are intact")
	require.Equal(t, before, sum(t, file), "a command that reads changed the file")

	succeed(t, "move", "order-1", "2100-01-02T03:30:00Z", "--store", file)
	require.Contains(t, succeed(t, "get", "order-1", "--store", file), "2100-01-02T03:30:00Z")
	succeed(t, "cancel", "order-1", "--store", file)
	status, _, log := hwtdurable(t, "get", "order-1", "--store", file)
	require.Equal(t, 1, status)
	require.Contains(t, log, "no pending entry")
	var letter struct{ Generation string }
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "dead", "--json", "--store", file)), &letter))
	succeed(t, "requeue", "lost", letter.Generation, "--store", file)
	require.Contains(t, succeed(t, "get", "lost", "--store", file), `"lost"`)
	require.Empty(t, succeed(t, "dead", "--store", file))
	status, _, log = hwtdurable(t, "discard", "lost", letter.Generation, "--store", file)
	require.Equal(t, 1, status, log)
}

func TestDeadLettersAreChosenByFlags(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"requeued by prefix", []string{"requeue", "--prefix", "lo"}, 0, "requeue: 1\n"},
		{"requeued at a rate", []string{"requeue", "--all", "--per-second", "0.5", "--json"}, 0, `{"requeue":1}`},
		{"discarded by error", []string{"discard", "--error", "such order"}, 0, "discard: 1\n"},
		{"discarded by reason", []string{"discard", "--reason", "failed"}, 0, "discard: 1\n"},
		{"another reason", []string{"discard", "--reason", "crashed"}, 0, "discard: 0\n"},
		{"another group", []string{"requeue", "--group", "tenant"}, 0, "requeue: 0\n"},
		{"unknown reason", []string{"requeue", "--reason", "late"}, 2, "expected: failed, expired, or crashed"},
		{"too young", []string{"discard", "--older", "24h"}, 0, "discard: 0\n"},
		{"no choice", []string{"requeue"}, 2, "0 arguments (expected: KEY and GENERATION, or one of --prefix"},
		{"key with a flag", []string{"requeue", "lost", "1", "--all"}, 2, "2 arguments (expected: KEY and GENERATION, or one of"},
		{"all with a prefix", []string{"discard", "--all", "--prefix", "a"}, 1, "Letters.All with a condition"},
		{"negative age", []string{"discard", "--older", "-1s"}, 2, "--older -1s (expected: 0s or more)"},
		{"rate of discards", []string{"discard", "--all", "--per-second", "1"}, 2, "not defined: -per-second"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "store")
			newStore(t, place.Place{File: file})
			status, out, log := hwtdurable(t, append(c.args, "--store", file)...)
			require.Equal(t, c.status, status, log)
			require.Contains(t, out+log, c.says)
		})
	}
}

func TestListShowsLastRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store")
	s, err := place.Place{File: file}.Open(t.Context(), false)
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		_, err := s.Set(t.Context(), durable.Entry{Key: key, Due: time.Now(), Every: durable.Every{Spec: "@every 1h"}})
		require.NoError(t, err)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	done := make(chan error, 1)
	go func() {
		done <- s.Work(ctx, func(_ context.Context, f durable.Firing) error {
			if f.Key == "b" {
				return durable.GiveUp(errors.New("no such report"))
			}
			return nil
		}, nil)
	}()
	require.Eventually(t, func() bool { st, _ := s.Stats(t.Context()); return st.Succeeded == 2 && st.GivenUp == 1 }, 20*time.Second, 10*time.Millisecond)
	end()
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
	lines := strings.Split(succeed(t, "list", "--store", file), "\n")
	require.Len(t, lines, 4)
	for i, says := range []string{`attempt 1  succeeded  ""`, `attempt 1  gave up  "durable: given up: no such report"`, `attempt 1  succeeded  ""`} {
		require.Contains(t, lines[i], says)
	}
	require.Contains(t, succeed(t, "list", "b", "--json", "--store", file), `"outcome":"gave up","error":"durable: given up: no such report"}`)
}

func sum(t *testing.T, file string) [32]byte {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return sha256.Sum256(text)
}

func TestBackupIsRestored(t *testing.T) {
	dir := t.TempDir()
	file, copied, restored := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	newStore(t, place.Place{File: file})
	succeed(t, "backup", copied, "--store", file)
	succeed(t, "restore", copied, "--store", restored)
	require.Equal(t, contents(t, "--store", file), contents(t, "--store", restored))
	status, _, _ := hwtdurable(t, "restore", copied, "--store", restored)
	require.Equal(t, 1, status)
}

func TestVerifyReadsClaimedEntries(t *testing.T) {
	server := startServer(t)
	url := server.URL("postgres")
	s, err := place.Place{URL: url, Schema: "hwt"}.Open(t.Context(), false)
	require.NoError(t, err)
	defer s.Close()
	entry, err := s.Set(t.Context(), durable.Entry{Key: "claimed", Due: due, Payload: []byte("pay")})
	require.NoError(t, err)
	worker, err := s.Backend().Heartbeat(t.Context(), 0, time.Minute)
	require.NoError(t, err)
	_, err = s.Backend().Claim(t.Context(), worker, []backend.Claim{{Ref: backend.Ref{Key: "claimed", Generation: entry.Generation}}})
	require.NoError(t, err)
	require.Contains(t, succeed(t, "verify", "--postgres", url), "1 entries and 0 dead letters are intact")
	require.Empty(t, succeed(t, "list", "--postgres", url))
	to := filepath.Join(t.TempDir(), "to")
	status, _, log := hwtdurable(t, "migrate", "--postgres", url, "--to-store", to)
	require.Equal(t, 1, status)
	require.Regexp(t, "1 entries of the source are claimed.*: delete the files "+to, log)
	for _, key := range []string{"later", "most intact"} {
		_, err = s.Set(t.Context(), durable.Entry{Key: key, Due: due})
		require.NoError(t, err)
	}
	_, err = s.Pool.Exec(t.Context(), "UPDATE hwt.entry SET payload = 'x' WHERE key <> 'most intact'")
	require.NoError(t, err)
	status, _, log = hwtdurable(t, "verify", "--postgres", url)
	require.Equal(t, 1, status)
	require.Contains(t, log, `key "claimed"`)
	require.Contains(t, log, `key "later"`)
	status, out, log := hwtdurable(t, "list", "--postgres", url)
	require.Equal(t, 1, status)
	require.Contains(t, out, "most intact")
	require.Contains(t, log, `key "later"`)
	require.NotContains(t, log, `key "claimed"`)
}

func TestHelpListsTheCommands(t *testing.T) {
	for _, args := range []string{"", "help", "-h", "-help", "--help"} {
		require.Contains(t, succeed(t, strings.Fields(args)...), "migrate", args)
	}
}

// The flag bounds the same in all commands, except where the help says otherwise.
func TestHelpNamesTheBoundOfWait(t *testing.T) {
	for command, want := range map[string]string{"get": "to wait for the database", "list": "to open the database",
		"migrate": "to open the database", "restore": "no --wait"} {
		status, _, log := hwtdurable(t, command, "--help")
		require.Zero(t, status)
		require.Contains(t, log, want, command)
	}
}

func TestWrongUsageIsExplained(t *testing.T) {
	for _, c := range []struct{ args, log string }{
		{"nothing", `unknown command "nothing"`},
		{"list", "exactly one of --store and --postgres is required"},
		{"get --store x", "0 arguments (expected: KEY)"},
		{"list a b --store x", "2 arguments (expected: [PREFIX])"},
		{"stats a --store x", "1 arguments (expected: none)"},
		{"lateness --rate 0", `invalid value "0" for flag -rate: must be from 1 to 100000`},
		{"lateness --for x", `invalid value "x" for flag -for: must be from 100ms to 2h0m0s`},
		{"figures --rounds -1", `"-1" for flag -rounds: must be from 1 to 100`},
		{"check --for 9s", `"9s" for flag -for: must be from 10s to 100h0m0s`},
		{"check --only x", `--only: "x" (expected: sqlite`},
		{"lateness --server --store x", "exclude each other"},
		{"lateness --server --normal", "exclude each other"},
		{"lateness --postgres u --normal", "exclude each other"},
		{"lateness --postgres u --store x", "exclude each other"},
		{"list --store x --wait 0s", "must be from 100ms to 1h0m0s"},
		{"migrate --postgres u --to-postgres u", "the target is the source"},
		{"migrate --store x", "one of --to-store and --to-postgres"},
	} {
		status, _, log := hwtdurable(t, strings.Fields(c.args)...)
		require.Equal(t, 2, status, c.args)
		require.Contains(t, log, c.log)
	}
	status, _, log := hwtdurable(t, "list", "--store", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, 1, status)
	require.NotEmpty(t, log)
	status, _, log = hwtdurable(t, "list", "--postgres", "postgres://127.0.0.1:1/none", "--wait", "1s")
	require.Equal(t, 1, status)
	require.Contains(t, log, "the database did not answer within --wait 1s: ")
	require.Contains(t, log, "127.0.0.1")
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	for _, when := range []string{"tomorrow", "+-10m", "+"} {
		status, _, log = hwtdurable(t, "move", "order-1", when, "--store", file)
		require.Equal(t, 1, status)
		require.Contains(t, log, "expected: such as +10m")
	}
}

func TestKeysAreBytes(t *testing.T) {
	where := place.Place{File: filepath.Join(t.TempDir(), "store.db")}
	s, err := where.Open(t.Context(), false)
	require.NoError(t, err)
	_, err = s.Set(t.Context(), durable.Entry{Key: "k\xff", Due: due})
	require.NoError(t, errors.Join(err, s.Close()))
	out := succeed(t, "get", "k\xff", "--json", "--store", where.File)
	require.Contains(t, out, `"key_bytes":"a/8="`)
	require.Contains(t, out, `"payload":""`, "as from PostgreSQL")
	require.Contains(t, succeed(t, "list", "--store", where.File), `"k\xff"`)
}

// Another program holds the lock of the file.
func TestWaitBoundsEachCall(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	s, err := place.Place{File: file}.Open(t.Context(), true)
	require.NoError(t, err)
	defer s.Close()
	tx, err := s.SQLite.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	status, _, log := hwtdurable(t, "cancel", "order-1", "--store", file, "--wait", "200ms")
	require.Equal(t, 1, status)
	require.Contains(t, log, "within --wait 200ms: ")
	require.Contains(t, log, "deadline exceeded")
}

func TestHelpOfACommandNamesItsArguments(t *testing.T) {
	for _, c := range commands() {
		status, _, log := hwtdurable(t, c.name, "--help")
		require.Zero(t, status)
		require.True(t, strings.HasPrefix(log, "hwtdurable "+strings.TrimSpace(c.name+" "+c.args)+": "+c.help+"\n"), log)
	}
}

func TestMeasurementRejectsAFilledStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	before := contents(t, "--store", file)
	status, _, log := hwtdurable(t, "lateness", "--rate", "100", "--for", "100ms", "--store", file)
	require.Equal(t, 1, status)
	require.Contains(t, log, "5 entries")
	require.Equal(t, before, contents(t, "--store", file))
}

func TestMeasurementsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	out := succeed(t, "lateness", "--rate", "500", "--for", "300ms")
	require.Regexp(t, `[1-9]\d+ set, [1-9]\d+ fired, \d+ early`, out)
	require.Contains(t, out, "the last twelfth")
	table := succeed(t, "figures", "--rounds", "1", "--entries", "1000", "--for", "300ms")
	require.Contains(t, table, "| medians of 1 rounds, 1,000 entries | SQLite |")
	require.Regexp(t, `due in one second: heap \| \d+ MB`, table)
	require.Regexp(t, `Open and a Get after SIGKILL \| \d+ ms`, table)
	for _, row := range []string{"Set by", "Move by", "Cancel by", "`SetMany`", "lateness at 5,000/s, p99", "due in one second: until"} {
		require.Regexp(t, row+`[^|]*\| [\d,.]*[1-9][\d,.]*( ms| s|/s) \|`, table)
	}
	require.Regexp(t, `commit of a Set.* p99 \| [\d.]+ ms \| [\d.]+ ms \|`, table)
}

// The data of a store must not reach a terminal as control sequences.
func TestOutputHasNoControlCharacters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	s, err := place.Place{File: file}.Open(t.Context(), false)
	require.NoError(t, err)
	evil := "\x1b]0;owned\x07\u009b2J\r\nforged"
	_, err = s.Set(t.Context(), durable.Entry{Key: evil, Due: time.Now().Add(time.Hour), Every: durable.Every{Schedule: evil}})
	require.NoError(t, err)
	_, err = s.Set(t.Context(), durable.Entry{Key: "dead" + evil, Due: time.Now()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, s.Work(ctx, func(context.Context, durable.Firing) error {
		cancel()
		return durable.GiveUp(errors.New(evil))
	}, nil))
	require.NoError(t, s.Close())
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"dead"}, {"dead", "--json"}, {"get", evil}, {"get", "no" + evil}} {
		t.Run(args[0]+fmt.Sprint(len(args)), func(t *testing.T) {
			_, out, log := hwtdurable(t, append(args, "--store", file)...)
			require.NotEmpty(t, out+log)
			require.False(t, strings.ContainsAny(out+log, "\x1b\x07\r\u009b"), "%q", out+log)
		})
	}
}

// Messages reach terminals, logs, and tickets. The driver hides only the passwords that it recognizes.
func TestPasswordIsInNoMessage(t *testing.T) {
	for _, url := range []string{
		"postgres://u:hunter2@127.0.0.1:1/db", "postgres://127.0.0.1:1/db?user=u&password=hunter2", "host=127.0.0.1 port=1 user=u password=hunter2",
		"postgres://u:hunter2@127.0.0.1:99999/db", "postgres://u:hunter2@127.0.0.1:abc/db", "postgres://u:hunter2@[::1/db",
		"postgres://u:hunter2@127.0.0.1/db?sslmode=bad", "postgres://127.0.0.1/db?user=u&password=hunter2&sslmode=bad", "postgres://u:hunter2@127.0.0.1/db?pool_max_conns=x",
		"postgres://u:hunter2/x@127.0.0.1/db", "postgres://u:hunter2 @127.0.0.1/db", "postgres://u:%zzhunter2@127.0.0.1/db", "postgresql//u:hunter2@127.0.0.1/db",
		"host=127.0.0.1 password=my hunter2 dbname=db", "host=127.0.0.1 password = hunter2 port=x", `host=127.0.0.1 password='it\'s hunter2' port=x`, "password='hunter2",
		"postgres://u:a`hunter2/x@127.0.0.1/db", "postgres://u:hunter2`/x@127.0.0.1/db", "host=127.0.0.1 password=a`hunter2 hunter2 dbname=db", "postgres://u:`hunter2@127.0.0.1/db?sslmode=bad",
	} {
		t.Run(url, func(t *testing.T) {
			status, out, log := hwtdurable(t, "list", "--wait", "100ms", "--postgres", url)
			require.Equal(t, 1, status)
			require.NotContains(t, out+log, "hunter2")
			require.Regexp(t, "^hwtdurable: (the database did not answer within --wait|cannot parse the URL of PostgreSQL: [a-z])", log)
		})
	}
	_, _, log := hwtdurable(t, "list", "--postgres", "postgres://127.0.0.1/db?sslmode=bad")
	require.Contains(t, log, "sslmode is invalid", "the reason")
}

func TestPausesAreSetListedAndEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	succeed(t, "pause", "order-", "--reason", "outage", "--by", "me", "--store", file)
	succeed(t, "pause", "--group", "tenant", "--store", file)
	require.Regexp(t, `prefix ""  group "tenant"  by "": ""\n.* prefix "order-"  group ""  by "me": "outage"\n`, succeed(t, "pauses", "--store", file))
	require.Contains(t, succeed(t, "pauses", "--json", "--store", file), `"reason":"outage"`)
	succeed(t, "resume", "order-", "--store", file)
	succeed(t, "resume", "--group", "tenant", "--store", file)
	require.Empty(t, succeed(t, "pauses", "--store", file))
	for _, args := range [][]string{{"pause"}, {"resume", "order-", "--all"}} {
		status, _, log := hwtdurable(t, append(args, "--store", file)...)
		require.Equal(t, 2, status)
		require.Contains(t, log, "(expected: PREFIX or --group, or --all)")
	}
}

func TestLimitsAreSetListedAndRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	newStore(t, place.Place{File: file})
	succeed(t, "limit", "mail/", "--running", "40", "--store", file)
	succeed(t, "limit", "--all", "--per-second", "2.5", "--store", file)
	require.Equal(t, `prefix ""  group ""  running 0  per second 2.5  burst 1  held 0  wants 0
prefix "mail/"  group ""  running 40  per second 0  burst 0  held 0  wants 0
`, succeed(t, "limits", "--store", file))
	require.Contains(t, succeed(t, "limits", "--json", "--store", file), `"running":40`)
	succeed(t, "limit", "mail/", "--none", "--store", file)
	succeed(t, "limit", "--all", "--none", "--store", file)
	require.Empty(t, succeed(t, "limits", "--store", file))
	for _, args := range [][]string{{"limit", "mail/"}, {"limit", "mail/", "--none", "--running", "1"}} {
		status, _, log := hwtdurable(t, append(args, "--store", file)...)
		require.Equal(t, 2, status)
		require.Contains(t, log, "(expected: --running or --per-second, or --none)")
	}
	status, _, log := hwtdurable(t, "limit", "mail/", "--per-second", "-1", "--store", file)
	require.Equal(t, 1, status)
	require.Contains(t, log, "Limit.PerSecond: -1 (expected: ")
}

func TestRestoredStoreIsPausedOnRequest(t *testing.T) {
	file, copied, restored := filepath.Join(t.TempDir(), "store.db"), filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "restored.db")
	newStore(t, place.Place{File: file})
	succeed(t, "backup", copied, "--store", file)
	succeed(t, "restore", copied, "--store", restored, "--paused")
	require.Contains(t, succeed(t, "pauses", "--store", restored), `prefix ""  group ""  by "Options.Paused": "restore --paused"`)
	require.Contains(t, succeed(t, "verify", "--store", restored), "intact")
	succeed(t, "resume", "--all", "--store", restored)
}
