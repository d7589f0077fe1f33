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

var pending = flag.Int("pending", 100_000, "number of pending timeouts while the script time per frame is measured")

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
	// hand is the picture of the hand.
	hand = `document.querySelectorAll(".dial canvas")[1].toDataURL()`
	// frames waits for five frames.
	frames = `(async () => { for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame); return true; })()`
	// shownNext are the visible rows of the next timeouts.
	shownNext = `[...document.querySelectorAll("#next tr")].filter(tr => !tr.hidden)`
	plot      = `document.querySelector("#rates").toDataURL()`
)

// figure is the expression for the text beside a name in the counts.
func figure(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#counts dt, #slow dt")].find(dt => dt.textContent === %q).nextSibling.textContent`, name)
}

func TestPageIsLive(t *testing.T) {
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
	t.Run("tasks and the next timeouts are listed", func(t *testing.T) {
		b.until(`document.querySelectorAll("#tasks li").length === 3 && document.querySelector("#tasks").textContent.includes("browsertest.reminder")`)
		b.until(shownNext + `.length >= 10 && ` + shownNext + `.every(tr => !tr.firstChild.textContent.startsWith("-"))`)
		// About 1,200 timeouts expire per second: the first rows were due long before the next scan.
		b.until(`document.querySelector("#next tr").hidden && ` + shownNext + `.length >= 10`)
	})
	t.Run("the histogram shows values on hover", func(t *testing.T) {
		b.until(`document.querySelector("#p99").textContent !== "–"`)
		hover := func(x string) string {
			return `(() => { const c = document.querySelector("#lateness");
				c.dispatchEvent(Object.assign(new MouseEvent("mousemove"), {}));
				const r = c.getBoundingClientRect();
				c.dispatchEvent(new MouseEvent("mousemove", { clientX: r.left + ` + x + `, clientY: r.top + 5 }));
				return document.querySelector("#late-bar").textContent; })()`
		}
		b.until(`/^up to .+: .+ in the last ten seconds, .+ since the start$/.test(` + hover("r.width / 2") + `)`)
		b.until(hover("2") + ` === ""`)
	})
	t.Run("the keys choose the timer and the theme", func(t *testing.T) {
		b.run(chromedp.KeyEvent("3"))
		b.until(`document.querySelectorAll(".dial").length === 2`) // the workers of "retries"
		b.run(chromedp.KeyEvent("2"))
		b.until(`document.querySelector("#wheel-note").textContent === "This timer has no wheel."`)
		const background = `getComputedStyle(document.body).backgroundColor`
		b.run(chromedp.Evaluate("window.before = "+background, nil), chromedp.KeyEvent("t"))
		b.until("window.before !== " + background)
		b.run(chromedp.KeyEvent("1"))
		b.until(`document.querySelectorAll(".dial").length === 1`)
	})
	t.Run("a pause stops the page", func(t *testing.T) { pauseStops(t, b) })
	t.Run("a phone shows it without scrolling sideways", func(t *testing.T) {
		for _, width := range []int64{360, 390, 1280} {
			b.fits(width, 900)
		}
	})
	t.Run("no errors, and no requests elsewhere", func(t *testing.T) {
		problems, requests := b.seen()
		assert.Empty(t, problems)
		for _, r := range requests {
			assert.True(t, strings.HasPrefix(r, address) || strings.HasPrefix(r, "data:image/svg+xml,"), r)
		}
	})
}

func pauseStops(t *testing.T, b *browser) {
	b.run(chromedp.KeyEvent("p"))
	// A new canvas is drawn again when its size is known.
	b.run(chromedp.Evaluate(frames, nil, awaitPromise))
	before, events := eval[string](b, hand), eval[int](b, `hwtPage.events`)
	time.Sleep(600 * time.Millisecond)
	b.run(chromedp.KeyEvent("t"), chromedp.KeyEvent("t")) // draws everything again
	assert.True(t, before == eval[string](b, hand), "the hand moved")
	assert.Equal(t, events, eval[int](b, `hwtPage.events`))
	b.shows("paused", `document.querySelector("#state").textContent`)
	b.run(chromedp.KeyEvent("p"))
	b.until(live)
}

func TestCountsEqualStats(t *testing.T) {
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
	b.until(live)
	b.shows("200", number)
	b.shows("200", figure("pending"))
	b.shows("300", figure("scheduled"))
	b.shows("100", figure("cancelled"))
	b.shows("200", `document.querySelector("#tasks b").textContent`)
	b.shows("<b>orders</b>", `document.querySelector("nav b").textContent`) // escaped
	b.shows("–", `document.querySelector("#p50").textContent`)              // no task has run
	b.shows("–", figure("slowest in the last minute"))
}

func TestTimersWithNamesOfObjectProperties(t *testing.T) {
	timers := map[string]hwt.Timer{}
	for _, name := range []string{"__proto__", "constructor"} {
		timer, err := runtimetimer.New(nil) // without a wheel
		require.NoError(t, err)
		defer timer.Stop()
		timers[name] = timer
	}
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, timers)))
	for _, key := range []string{"1", "2"} {
		b.run(chromedp.KeyEvent(key))
		b.until(live + ` && document.querySelector("#wheel-note").textContent === "This timer has no wheel."`)
		b.until(`document.querySelector("#age").textContent.startsWith("0 timeouts")`)
		b.run(chromedp.Evaluate(frames, nil, awaitPromise))
	}
	problems, _ := b.seen()
	assert.Empty(t, problems)
}

// A timer may have any name, also one from user input.
func TestAnyNameFitsIntoItsTab(t *testing.T) {
	timers := map[string]hwt.Timer{}
	for _, name := range []string{"", strings.Repeat("w", 360), strings.Repeat("two words ", 36)} {
		timer, err := hashedwheel.New(nil)
		require.NoError(t, err)
		defer timer.Stop()
		timers[name] = timer
	}
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, timers)))
	b.until(live)
	b.shows("(no name)", `document.querySelector("nav b").textContent`)
	for _, width := range []int64{360, 1280, 1920} {
		b.fits(width, 900)
		b.until(`[...document.querySelectorAll("nav button")].every(e => e.scrollWidth <= e.clientWidth)`)
	}
}

// bare is a timer without a list of its timeouts.
type bare struct{ hwt.Timer }

func TestMissingScanIsExplained(t *testing.T) {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, map[string]hwt.Timer{"a": bare{timer}, "b": timer})))
	b.until(live)
	const texts = `["age", "sample"].map(id => document.getElementById(id).textContent)`
	b.shows([]string{"this timer does not list its timeouts", "this timer does not list its timeouts"}, texts)
	b.run(chromedp.KeyEvent("2"))
	b.until(`document.querySelector("#age").textContent.startsWith("0 timeouts")`)
	b.run(chromedp.KeyEvent("p"), chromedp.Evaluate(`hwtPage.receive.waiting({timers: {}})`, nil))
	b.shows([]string{"scanning the pending timeouts", "scanning the pending timeouts"}, texts)
}

func TestLongLagIsHighlighted(t *testing.T) {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, map[string]hwt.Timer{"a": timer})))
	b.until(live)
	b.run(chromedp.KeyEvent("p"))
	b.shows("paused", `document.querySelector("#state").textContent`)
	b.run(chromedp.Evaluate(`(async () => {
		const stats = await (await fetch("timers.json")).json();
		Object.assign(stats.timers[0].stats, {accepted: 1, lag_ns: 150e9, max_lag_ns: 20e6});
		hwtPage.receive.stats({uptime_ns: 1, leaks: [], ...stats});
	})()`, nil, awaitPromise))
	b.shows([]string{"2.50\u202fmin", "bad"}, `["textContent", "className"].map(p => document.getElementById("lag")[p])`)
	b.shows([]string{"20\u202fms", ""}, `["textContent", "className"].map(p => document.getElementById("max-lag")[p])`)
}

// The page keeps the counts of a timer by its name.
func TestReplacedTimerStartsItsRatesAgain(t *testing.T) {
	timer, err := hashedwheel.New(nil)
	require.NoError(t, err)
	defer timer.Stop()
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, map[string]hwt.Timer{"a": timer})))
	b.until(live)
	b.run(chromedp.KeyEvent("p"))
	b.shows("paused", `document.querySelector("#state").textContent`)
	// The second timer has accepted more and cancelled less than the first.
	b.run(chromedp.Evaluate(`(async () => {
		const stats = await (await fetch("timers.json")).json(), s = stats.timers[0].stats;
		let uptime = 1e15;
		const play = counts => {
			Object.assign(s, counts);
			for (let i = 0; i < 6; i++) hwtPage.receive.stats({uptime_ns: uptime += 250e6, leaks: [], ...stats});
		};
		play({accepted: 100, cancelled: 50, task_time_ns: 9e9});
		play({accepted: 5000, cancelled: 10, task_time_ns: 1e6});
	})()`, nil, awaitPromise))
	b.shows([]string{"0", "0", "0", "0"}, `[...document.querySelectorAll("#legend b")].map(e => e.textContent)`)
	b.shows("0.0\u202f%", figure("busy with tasks"))
}

func TestDocumentDoesNotGrow(t *testing.T) {
	timers, _ := shop(t)
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serve(t, timers)))
	b.until(live + ` && document.querySelectorAll("#next tr").length >= 40`)
	// The page is paused, and receives no events from the server. The test repeats the same
	// events, ten minutes' worth: the first creates the elements, and no other adds any.
	b.run(chromedp.KeyEvent("p"))
	b.shows("paused", `document.querySelector("#state").textContent`)
	events := 4 * 60 * 10
	if testing.Short() {
		events = 4 * 60
	}
	var nodes []int
	b.run(chromedp.Evaluate(fmt.Sprintf(`(async () => {
		const events = {};
		await new Promise(resolve => {
			const source = new EventSource("events");
			for (const topic of ["stats", "rings", "waiting"]) source.addEventListener(topic, e => {
				events[topic] = JSON.parse(e.data);
				if (Object.keys(events).length === 3) { source.close(); resolve(); }
			});
		});
		const play = times => {
			for (let i = 0; i < times; i++) {
				events.stats.uptime_ns += 250e6;
				hwtPage.receive.stats(events.stats);
				if (i %% 4 === 0) hwtPage.receive.rings(events.rings);
				if (i %% 12 === 0) hwtPage.receive.waiting(events.waiting);
			}
			return document.getElementsByTagName("*").length;
		};
		return [play(1), play(%d)];
	})()`, events), &nodes, awaitPromise))
	require.Len(t, nodes, 2)
	assert.Equal(t, nodes[0], nodes[1])
}

func TestPageReconnectsAfterServerRestart(t *testing.T) {
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
	b.until(`document.querySelector("#state").className === "lost" && getComputedStyle(document.querySelector("main")).opacity < 1`)
	listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	server = start(listener)
	defer server.Close()
	defer server.CloseClientConnections()
	b.until(live + ` && getComputedStyle(document.querySelector("main")).opacity === "1"`)
}

// TestScriptTimePerFrame reports the script's time per frame, with -pending timeouts.
func TestScriptTimePerFrame(t *testing.T) {
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
	t.Logf("%d pending, %.0f frames, %.2f ms of script per frame", timer.Pending(), frames, eval[float64](b, `hwtPage.scriptTime`)/frames)
	t.Logf("scan: %s", eval[string](b, `document.querySelector("#age").textContent`))
}

// colors makes the page "dark" or "light".
func colors(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// TestPictures writes pictures of the page to the folder named by SCREENSHOTS. With
// SCREENSHOTS=docs, the path of that folder, it renews docs/inspect.png.
func TestPictures(t *testing.T) {
	if pictures == "" {
		t.Skip("SCREENSHOTS names no folder")
	}
	timers, _ := shop(t)
	b := newBrowser(t, 1280, 800)
	b.run(colors("dark"), chromedp.Navigate(serve(t, timers)))
	time.Sleep(25 * time.Second)
	b.shoot("inspect")
	b.run(colors("light"))
	b.shoot("inspect-light")
	b.run(chromedp.KeyEvent("3"), colors("dark"))
	time.Sleep(2 * time.Second)
	b.shoot("inspect-levels")
	b.run(chromedp.EmulateViewport(390, 844))
	time.Sleep(time.Second)
	b.shoot("inspect-phone")
}

func TestHiddenPageClosesItsStream(t *testing.T) {
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
