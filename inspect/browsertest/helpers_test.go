package browsertest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/inspect"
)

// chromium returns the path of the browser, and skips the test without one.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("Chromium is not installed (Debian package chromium)")
	return ""
}

// browser is a tab with the problems it reported and the addresses it requested.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	problems []string
	requests []string
}

// newBrowser starts a browser with a window of the given size. Chromium sometimes hangs
// while it starts; newBrowser then starts another.
func newBrowser(t *testing.T, width, height int) *browser {
	const tries, soon = 3, 30 * time.Second
	for try := 1; ; try++ {
		b, cancel := openBrowser(t, width, height)
		started := make(chan error, 1)
		go func() {
			started <- chromedp.Run(b, log.Enable(), network.Enable(), chromedp.EmulateViewport(int64(width), int64(height)))
		}()
		select {
		case err := <-started:
			require.NoError(t, err)
			return b
		case <-time.After(soon):
			cancel()
			require.Less(t, try, tries, "the browser does not start")
		}
	}
}

func openBrowser(t *testing.T, width, height int) (*browser, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(width, height))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, t: t}
	chromedp.ListenTarget(ctx, b.listen)
	return b, cancel
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, "console."+string(e.Type))
	case *log.EventEntryAdded:
		b.problems = append(b.problems, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// seen returns the reported problems and the requested addresses.
func (b *browser) seen() (problems, requests []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problems, b.requests
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b, actions...))
}

// eval returns the value of an expression in the page.
func eval[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v))
	return v
}

// until waits for an expression in the page to become true. An expression that throws
// counts as false, since it may refer to elements that are not drawn yet.
func (b *browser) until(expression string) {
	b.t.Helper()
	tried := "(() => { try { return !!(" + expression + "); } catch { return false; } })()"
	err := chromedp.Run(b, chromedp.Poll(tried, nil, chromedp.WithPollingTimeout(40*time.Second)))
	require.NoError(b.t, err, "waiting for %s", expression)
}

// shows waits for an expression in the page to have a value. The page draws when the next
// event arrives, so a test must not compare its state at a single moment.
func (b *browser) shows(value any, expression string) {
	b.t.Helper()
	text, err := json.Marshal(value)
	require.NoError(b.t, err)
	b.until("JSON.stringify(" + expression + ") === JSON.stringify(" + string(text) + ")")
}

// fits waits for the page to be no wider than the window.
func (b *browser) fits(width, height int64) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height))
	b.until("innerWidth === " + strconv.FormatInt(width, 10) + " && document.documentElement.scrollWidth <= innerWidth")
}

// pictures is the folder for pictures of the page; "" disables them.
var pictures = os.Getenv("SCREENSHOTS")

// awaitPromise makes an evaluation wait for a promise.
func awaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// shoot writes a picture of the page.
func (b *browser) shoot(name string) {
	var picture []byte
	b.run(chromedp.FullScreenshot(&picture, 100))
	require.NoError(b.t, os.WriteFile(filepath.Join(pictures, name+".png"), picture, 0o600))
}

// serve serves the page for timers, and returns its address.
func serve(t *testing.T, timers map[string]hwt.Timer) string {
	mux := http.NewServeMux()
	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{Timers: timers}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL + "/debug/hwt/"
}

// load keeps about that many timeouts pending until the test ends, like a shop in which
// most orders are paid.
func load(t *testing.T, timer hwt.Engine, pending int, longest time.Duration) {
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done })
	orders := make([]hwt.Timeout, pending)
	for i := range orders {
		orders[i] = schedule(t, timer, longest)
	}
	go func() {
		defer close(done)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			for range 40 {
				i := rand.IntN(len(orders))
				if rand.IntN(3) > 0 {
					orders[i].Cancel()
				}
				if orders[i].IsCancelled() || orders[i].IsExpired() {
					orders[i] = schedule(t, timer, longest)
				}
			}
		}
	}()
}

// schedule schedules one of several tasks, usually with a delay near half of longest.
func schedule(t *testing.T, timer hwt.Engine, longest time.Duration) hwt.Timeout {
	delay := time.Duration((rand.NormFloat64()*0.18 + 0.5) * float64(longest))
	var timeout hwt.Timeout
	var err error
	switch n := rand.IntN(10); {
	case n < 6:
		timeout, err = timer.AfterFunc(delay, checkOrder)
	case n < 9:
		timeout, err = timer.NewTimeout(reminder{}, delay)
	default:
		timeout, err = timer.AfterFunc(delay, closeSession)
	}
	if err != nil {
		t.Error(err)
	}
	return timeout
}

func checkOrder()   {}
func closeSession() { time.Sleep(50 * time.Microsecond) }

type reminder struct{}

func (reminder) Run(hwt.Timeout) error { return nil }
