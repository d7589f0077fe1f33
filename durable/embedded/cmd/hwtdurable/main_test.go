package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/cmd/hwtdurable/internal/orders"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

func TestMain(m *testing.M) {
	if status, asked := role.Asked(); asked {
		os.Exit(status)
	}
	goleak.VerifyTestMain(m)
}

// hwtdurable runs a command, and returns its status and output.
func hwtdurable(ctx context.Context, args ...string) (status int, out, log string) {
	var o, l bytes.Buffer
	status = run(ctx, args, &o, &l)
	return status, o.String(), l.String()
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestTheTotalsAddUp(t *testing.T) {
	status, out, log := hwtdurable(testContext(t), "orders", "--orders", "500", "--over", "3s", "--json")
	require.Zero(t, status, log)
	var b struct {
		Placed, Paid, Released, Early, Lost, Both, Repeated int
	}
	require.NoError(t, json.Unmarshal([]byte(out), &b), out)
	assert.Equal(t, 500, b.Placed)
	assert.Equal(t, b.Placed, b.Paid+b.Released)
	assert.NotZero(t, b.Paid)
	assert.NotZero(t, b.Released)
	assert.Zero(t, b.Early+b.Lost+b.Both+b.Repeated)
}

func TestServeShowsTheShopAndTheStore(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	log, done := new(syncedText), make(chan int, 1)
	go func() {
		done <- run(ctx, strings.Fields("orders --orders 300 --over 30s --serve :0"), io.Discard, log)
	}()
	var shown string
	require.Eventually(t, func() bool {
		at := regexp.MustCompile(`Watch it at (http://127\.0\.0\.1:\d+/debug/hwt/)`).FindStringSubmatch(log.String())
		if at == nil {
			return false
		}
		response, err := http.Get(at[1])
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		shown = string(body)
		return err == nil && regexp.MustCompile(`placed +300\n`).MatchString(shown) && regexp.MustCompile(`pending +[1-9]`).MatchString(shown)
	}, time.Minute, 100*time.Millisecond, log)
	assert.Contains(t, shown, "Durable timers: timers\n  Stored\n")
	assert.Regexp(t, `next minute +[1-9]`, shown)
	cancel()
	<-done
	http.DefaultClient.CloseIdleConnections()
}

// syncedText is text that one goroutine writes while another reads it.
type syncedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *syncedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *syncedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a shop twice")
	}
	dir := t.TempDir()
	args := []string{"orders", "--orders", "400", "--over", "4s", "--keep", dir}
	ctx, interrupt := context.WithCancel(testContext(t))
	time.AfterFunc(10*time.Second, interrupt)
	status, _, log := hwtdurable(ctx, args...)
	require.Zero(t, status, log)
	require.Contains(t, log, "The same command goes on in "+dir)
	status, out, log := hwtdurable(testContext(t), args...)
	require.Zero(t, status, log)
	assert.Contains(t, log, "Going on in "+dir)
	assert.Contains(t, out, "The totals add up.")
	args[2] = "500"
	status, _, log = hwtdurable(testContext(t), args...)
	assert.Equal(t, 1, status)
	assert.Contains(t, log, "holds a run of 400 orders")
}

func TestOperatorsSeeAndChangeAStore(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	s, err := embedded.Open(ctx, dir, &embedded.Options{Store: durable.Options{Lead: time.Second}})
	require.NoError(t, err)
	due := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	for _, key := range []string{"order-17", "order 18"} {
		_, err := s.Set(ctx, key, due, []byte("check"))
		require.NoError(t, err)
	}
	_, err = s.SetEvery(ctx, "report", durable.Every{Spec: "@every 5m"}, due, nil)
	require.NoError(t, err)
	_, err = s.Set(ctx, "broken", time.Now(), nil)
	require.NoError(t, err)
	work, end := context.WithCancel(ctx)
	require.NoError(t, s.Work(work, func(context.Context, durable.Firing) error {
		time.AfterFunc(100*time.Millisecond, end)
		return durable.GiveUp(os.ErrPermission)
	}, nil))
	require.NoError(t, s.Close())

	do := func(want int, args ...string) (string, string) {
		t.Helper()
		status, out, log := hwtdurable(ctx, append(args, "--store", dir)...)
		assert.Equal(t, want, status, log)
		return out, log
	}
	out, _ := do(0, "list")
	assert.Equal(t, 3, strings.Count(out, "\n"))
	assert.Contains(t, out, due.Format(time.RFC3339)+`  "order-17"  generation `)
	assert.Contains(t, out, "@every 5m")
	out, _ = do(0, "get", "order 18", "--json")
	var got shown
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, "order 18", got.Key)
	assert.Equal(t, []byte("check"), got.Payload)
	assert.True(t, got.Due.Equal(due))
	do(0, "move", "order 18", due.Add(time.Hour).Format(time.RFC3339))
	do(0, "cancel", "order-17")
	_, log := do(1, "cancel", "order-17")
	assert.Contains(t, log, `durable: Cancel "order-17": no timer of this key is pending`)
	_, log = do(1, "move", "order 18", "soon")
	assert.Contains(t, log, `time "soon" (expected: such as +10m`)
	out, _ = do(0, "dead", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, "broken", got.Key)
	assert.Equal(t, "durable: given up: permission denied", got.Error)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &fields))
	do(0, "requeue", "broken", fields["generation"].(string))
	out, _ = do(0, "dead")
	assert.Empty(t, out)
	out, _ = do(0, "stats")
	assert.Contains(t, out, "dead 0")
}

func TestWrongUsageIsNamed(t *testing.T) {
	ctx := testContext(t)
	for _, c := range []struct {
		args string
		want string
	}{
		{"nonsense", `no command "nonsense"`},
		{"orders --orders 0", "--orders: 0 (expected: 1 to 10000000)"},
		{"orders extra", "1 arguments (expected: 0)"},
		{"orders --serve 8080", `--serve "8080": `},
		{"list", "exactly one of --store and --nats is needed"},
		{"get --store x", "0 arguments (expected: 1)"},
		{"list --what", "flag provided but not defined: -what"},
	} {
		status, _, log := hwtdurable(ctx, strings.Fields(c.args)...)
		assert.Equal(t, 2, status, c.args)
		assert.Contains(t, log, c.want)
	}
	status, _, log := hwtdurable(ctx, "list", "--store", t.TempDir())
	assert.Equal(t, 1, status)
	assert.Contains(t, log, "is not a store")
	status, out, _ := hwtdurable(ctx)
	assert.Zero(t, status)
	assert.Contains(t, out, "hwtdurable orders")
}

func TestTotalsNameEachFault(t *testing.T) {
	b := orders.Totals{Orders: 2, Placed: 2, Paid: 1, Released: 1}
	assert.True(t, b.AddUp())
	for _, bad := range []orders.Totals{
		{Orders: 2, Placed: 1, Paid: 1}, {Orders: 2, Placed: 2, Paid: 1}, {Orders: 1, Placed: 1, Paid: 1, Early: 1},
		{Orders: 1, Placed: 1, Paid: 1, Repeated: 1}, {Orders: 1, Placed: 1, Paid: 1, Both: 1}, {Orders: 1, Placed: 1, Lost: 1},
	} {
		assert.False(t, bad.AddUp(), "%+v", bad)
		var out bytes.Buffer
		bad.Print(&out)
		assert.Contains(t, out.String(), "DO NOT ADD UP")
	}
}
