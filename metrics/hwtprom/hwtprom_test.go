package hwtprom_test

import (
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/leak"
	"github.com/hashedwheel/hwt/metrics"
	"github.com/hashedwheel/hwt/metrics/hwtprom"
)

// all returns a source of each kind, on timer.
func all(t *testing.T, timer *hashedwheel.Timer) []metrics.Source {
	wheel, err := keyed.New(timer, func(string, int) {}, nil)
	require.NoError(t, err)
	sessions, err := cache.New[string, int](time.Minute, nil)
	require.NoError(t, err)
	reaper, err := idle.New(timer, time.Minute, nil)
	require.NoError(t, err)
	c, err := clock.New(timer, nil)
	require.NoError(t, err)
	t.Cleanup(func() { sessions.Close(); reaper.Close() })
	return []metrics.Source{
		metrics.Timer(timer), metrics.Keyed(wheel), metrics.Cache(sessions), metrics.Idle(reaper), metrics.Clock(c),
		metrics.Leak(leak.NewDetector[int]("test.Resource", nil)), sizes{},
	}
}

func newTimer(t *testing.T) *hashedwheel.Timer {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	return timer
}

// sizes is a source from outside the library.
type sizes struct{}

func (sizes) Describe() []metrics.Desc {
	return []metrics.Desc{{Name: "queue.message_size", Help: "Sizes of messages", Unit: "bytes", Kind: metrics.Histogram}}
}

func (sizes) Read() []metrics.Value {
	return []metrics.Value{{Number: 25, Buckets: buckets}}
}

func TestNamesAndHelpPassPrometheusLint(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, source := range all(t, newTimer(t)) {
		require.NoError(t, registry.Register(hwtprom.New("test", source)))
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestScrapeHasTheCounts(t *testing.T) {
	timer := newTimer(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(hwtprom.New("orders", metrics.Timer(timer)))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	for range 3 {
		_, err := timer.AfterFunc(time.Hour, func() {})
		require.NoError(t, err)
	}
	first, err := timer.AfterFunc(time.Hour, func() {})
	require.NoError(t, err)
	first.Cancel()

	response, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, line := range []string{
		"# TYPE hwt_timer_pending gauge",
		`hwt_timer_pending{name="orders"} 3`,
		"# HELP hwt_timer_accepted_total Timeouts scheduled.",
		`hwt_timer_accepted_total{name="orders"} 4`,
		`hwt_timer_cancelled_total{name="orders"} 1`,
	} {
		assert.Contains(t, string(body), line+"\n")
	}
}

func TestTwoTimersShareARegistry(t *testing.T) {
	timer, registry := newTimer(t), prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(hwtprom.New("one", metrics.Timer(timer))))
	require.NoError(t, registry.Register(hwtprom.New("two", metrics.Timer(timer))))
	assert.Error(t, registry.Register(hwtprom.New("two", metrics.Timer(timer))))
	n, err := testutil.GatherAndCount(registry, "hwt_timer_pending")
	require.NoError(t, err)
	assert.Equal(t, 2, n)
}

func TestHistogramsAreCumulative(t *testing.T) {
	want := `
		# HELP hwt_queue_message_size_bytes Sizes of messages.
		# TYPE hwt_queue_message_size_bytes histogram
		hwt_queue_message_size_bytes_bucket{name="mail",le="1"} 5
		hwt_queue_message_size_bytes_bucket{name="mail",le="4"} 7
		hwt_queue_message_size_bytes_bucket{name="mail",le="+Inf"} 8
		hwt_queue_message_size_bytes_sum{name="mail"} 25
		hwt_queue_message_size_bytes_count{name="mail"} 8
	`
	assert.NoError(t, testutil.CollectAndCompare(hwtprom.New("mail", sizes{}), strings.NewReader(want)))
}

func TestInvalidUTF8NameIsRejected(t *testing.T) {
	assert.Error(t, prometheus.NewRegistry().Register(hwtprom.New("\xff", sizes{})))
}

func TestNilSourceIsRejected(t *testing.T) {
	collector := hwtprom.New("orders", metrics.Timer(nil))
	assert.ErrorContains(t, prometheus.NewRegistry().Register(collector),
		`hwtprom: New: source of "orders" is nil (expected: a metrics.Source)`)
}

var buckets = []metrics.Bucket{{Bound: 1, Count: 5}, {Bound: 4, Count: 2}, {Bound: math.Inf(1), Count: 1}}
