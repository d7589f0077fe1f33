package browsertest

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/inspect"
	"github.com/hashedwheel/hwt/runtimetimer"
)

var pending = flag.Int("pending", 100_000, "timeouts that are pending while the script time of a frame is measured")

// shop returns timers of all engines with some traffic.
func shop(t *testing.T) (map[string]hwt.Timer, hwt.Engine) {
	orders, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, TicksPerWheel: 2048, RecordCallers: true})
	require.NoError(t, err)
	retries, err := hierarchical.New(&hierarchical.Options{TickDuration: 10 * time.Millisecond, Workers: 2})
	require.NoError(t, err)
	precise, err := runtimetimer.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { orders.Stop(); retries.Stop(); precise.Stop() })
	load(t, orders, 20_000, 15*time.Second)
	load(t, retries, 3000, time.Minute)
	load(t, precise, 100, time.Second)
	return map[string]hwt.Timer{"orders": orders, "retries": retries, "precise": precise}, orders
}

const (
	live   = `document.querySelector("#state").textContent === "live"`
	number = `document.querySelector(".dial b").textContent`
	// hand is a digest of what is drawn of the hand.
	hand = `document.querySelectorAll(".dial canvas")[1].toDataURL()`
	// frames lets the page draw a few times.
	frames = `(async () => { for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame); return true; })()`
	plot   = `document.querySelector("#rates").toDataURL()`
)

// figure returns the text beside a name in the counts.
func (b *browser) figure(name string) string {
	return eval[string](b, fmt.Sprintf(
		`[...document.querySelectorAll("#counts dt, #slow dt")].find(dt => dt.textContent === %q).nextSibling.textContent`, name))
}

func TestThePageIsAlive(t *testing.T) {
	timers, _ := shop(t)
	b := newBrowser(t, 1280, 900)
	address := serve(t, timers)
	b.run(chromedp.Navigate(address))
	b.until(live + ` && ` + number + ` !== "0"`)

	t.Run("the hand turns and the plots move", func(t *testing.T) {
		for _, drawn := range []string{hand, plot} {
			b.run(chromedp.Evaluate("window.before = "+drawn, nil))
			b.until("window.before !== " + drawn)
		}
	})
	t.Run("tasks and what is due next are listed", func(t *testing.T) {
		b.until(`document.querySelectorAll("#tasks li").length === 3`)
		assert.Contains(t, eval[string](b, `document.querySelector("#tasks").textContent`), "browsertest.reminder")
		assert.Equal(t, 100, eval[int](b, `document.querySelectorAll("#next tr").length`))
	})
	t.Run("the keys choose the timer and the theme", func(t *testing.T) {
		b.run(chromedp.KeyEvent("3"))
		b.until(`document.querySelectorAll(".dial").length === 2`) // the workers of "retries"
		b.run(chromedp.KeyEvent("2"))
		b.until(`document.querySelector("#wheel-note").textContent === "This timer has no wheel."`)
		dark := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
		b.run(chromedp.KeyEvent("t"))
		assert.NotEqual(t, dark, eval[string](b, `getComputedStyle(document.body).backgroundColor`))
		b.run(chromedp.KeyEvent("1"))
		b.until(`document.querySelectorAll(".dial").length === 1`)
	})
	t.Run("a pause stops everything", func(t *testing.T) {
		b.run(chromedp.KeyEvent("p"))
		// A canvas that was just made is drawn again as soon as its size is known.
		b.run(chromedp.Evaluate(frames, nil, awaitPromise))
		before, events := eval[string](b, hand), eval[int](b, `hwtPage.events`)
		time.Sleep(600 * time.Millisecond)
		b.run(chromedp.KeyEvent("t"), chromedp.KeyEvent("t")) // draws everything again
		assert.True(t, before == eval[string](b, hand), "the hand moved")
		assert.Equal(t, events, eval[int](b, `hwtPage.events`))
		assert.Equal(t, "paused", eval[string](b, `document.querySelector("#state").textContent`))
		b.run(chromedp.KeyEvent("p"))
		b.until(live)
	})
	t.Run("a phone shows it without scrolling sideways", func(t *testing.T) {
		b.run(chromedp.EmulateViewport(360, 740))
		time.Sleep(300 * time.Millisecond)
		assert.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 360)
		b.run(chromedp.EmulateViewport(1280, 900))
	})
	t.Run("no errors, and no requests elsewhere", func(t *testing.T) {
		problems, requests := b.seen()
		assert.Empty(t, problems)
		for _, r := range requests {
			assert.True(t, strings.HasPrefix(r, address) || strings.HasPrefix(r, "data:image/svg+xml,"), r)
		}
	})
}

func TestTheFiguresAreThoseOfStats(t *testing.T) {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	for i := range 300 {
		timeout, err := timer.AfterFunc(time.Hour, checkOrder)
		require.NoError(t, err)
		if i%3 == 0 {
			timeout.Cancel()
		}
	}
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, map[string]hwt.Timer{"<b>orders</b>": timer})))
	b.until(live + ` && ` + number + ` === "200" && document.querySelector("#tasks b")`)
	assert.Equal(t, "200", b.figure("pending"))
	assert.Equal(t, "300", b.figure("scheduled"))
	assert.Equal(t, "100", b.figure("cancelled"))
	assert.Equal(t, "200", eval[string](b, `document.querySelector("#tasks b").textContent`))
	assert.Equal(t, "<b>orders</b>", eval[string](b, `document.querySelector("nav b").textContent`), "escaped")
}

func TestTheNumberOfNodesStaysLevel(t *testing.T) {
	timers, _ := shop(t)
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, timers)))
	b.until(live + ` && document.querySelectorAll("#next tr").length === 100`)
	nodes := `document.getElementsByTagName("*").length`
	before := eval[int](b, nodes)
	// Ten minutes of events, at once: those that came are played again.
	events := 4 * 60 * 10
	if testing.Short() {
		events = 4 * 60
	}
	b.run(chromedp.Evaluate(fmt.Sprintf(`(async () => {
		const events = {};
		await new Promise(resolve => {
			const source = new EventSource("events");
			for (const topic of ["stats", "rings", "waiting"]) source.addEventListener(topic, e => {
				events[topic] = JSON.parse(e.data);
				if (Object.keys(events).length === 3) { source.close(); resolve(); }
			});
		});
		for (let i = 0; i < %d; i++) {
			events.stats.uptime_ns += 250e6;
			hwtPage.receive.stats(events.stats);
			if (i %% 4 === 0) hwtPage.receive.rings(events.rings);
			if (i %% 12 === 0) hwtPage.receive.waiting(events.waiting);
		}
		return true;
	})()`, events), nil, awaitPromise))
	assert.InDelta(t, before, eval[int](b, nodes), 10)
}

func TestThePageFindsAServerThatWasStartedAgain(t *testing.T) {
	timers, _ := shop(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	start := func(l net.Listener) *httptest.Server {
		server := httptest.NewUnstartedServer(inspect.Handler(&inspect.Options{Timers: timers}))
		server.Listener.Close()
		server.Listener = l
		server.Start()
		return server
	}
	server := start(listener)
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate("http://" + address + "/"))
	b.until(live)
	server.CloseClientConnections()
	server.Close()
	b.until(`document.querySelector("#state").className === "lost"`)
	listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	server = start(listener)
	defer server.Close()
	defer server.CloseClientConnections()
	b.until(live)
}

// TestScriptTimeOfAFrame reports how long the page's script runs for a frame. With
// -pending 1000000, as many timeouts wait.
func TestScriptTimeOfAFrame(t *testing.T) {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, TicksPerWheel: 8192})
	require.NoError(t, err)
	t.Cleanup(func() { timer.Stop() })
	load(t, timer, *pending, 80*time.Second)
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, map[string]hwt.Timer{"orders": timer})))
	b.until(live + ` && document.querySelector("#tasks li")`)
	b.run(chromedp.Evaluate(`hwtPage.frames = hwtPage.scriptTime = 0`, nil))
	time.Sleep(4 * time.Second)
	frames := eval[float64](b, `hwtPage.frames`)
	t.Logf("%d pending, %.0f frames, %.2f ms of script a frame", timer.Pending(), frames, eval[float64](b, `hwtPage.scriptTime`)/frames)
	t.Logf("a look at all that waits: %s", eval[string](b, `document.querySelector("#age").textContent`))
}

// colours makes the page "dark" or "light".
func colours(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// TestPictures takes pictures of the page, for people, if the environment names a
// folder for them.
func TestPictures(t *testing.T) {
	if pictures == "" {
		t.Skip("the variable SCREENSHOTS names no folder")
	}
	timers, _ := shop(t)
	b := newBrowser(t, 1280, 800)
	b.run(colours("dark"), chromedp.Navigate(serve(t, timers)))
	time.Sleep(25 * time.Second)
	b.shoot("dark")
	b.run(colours("light"))
	b.shoot("light")
	b.run(chromedp.KeyEvent("3"), colours("dark"))
	time.Sleep(2 * time.Second)
	b.shoot("levels")
	b.run(chromedp.EmulateViewport(390, 844))
	time.Sleep(time.Second)
	b.shoot("phone")
}

// TestAHiddenPageClosesItsStream counts the streams that are open.
func TestAHiddenPageClosesItsStream(t *testing.T) {
	timers, _ := shop(t)
	handler := inspect.Handler(&inspect.Options{Timers: timers})
	opened, closed := make(chan bool, 10), make(chan bool, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "events") {
			opened <- true
			defer func() { closed <- true }()
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(server.URL + "/"))
	<-opened
	hide := `Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`
	b.run(chromedp.Evaluate(fmt.Sprintf(hide, true), nil))
	<-closed
	b.run(chromedp.Evaluate(fmt.Sprintf(hide, false), nil))
	<-opened
}
