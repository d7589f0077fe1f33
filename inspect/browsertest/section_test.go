package browsertest

import (
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/inspect"
)

// store is a section like that of a store of timers, with a growing value.
func store(reads *atomic.Int64) inspect.Section {
	return inspect.NewSection("Store <b>orders</b>", func(context.Context) ([]inspect.Block, error) {
		n := reads.Add(1)
		shards := make([][]any, 12)
		for i := range shards {
			shards[i] = []any{i, 8000 + i, 120, 0, "2.1 MB", 1200 * time.Microsecond, nil}
		}
		return []inspect.Block{
			{Title: "Stored", Figures: []inspect.Figure{
				{Name: "pending", Value: 1_234_567}, {Name: "<i>dead</i> letters", Value: 3, Bad: true}, {Name: "reads", Value: n}}},
			{Title: "Due", Bars: []inspect.Figure{{Name: "next second", Value: 25}, {Name: "next hour", Value: 100}, {Name: "later", Value: 0}}},
			{Title: "Shards", Table: inspect.Table{Columns: []string{"shard", "pending", "leased", "dead", "disk", "lag", "canary"}, Rows: shards}},
		}, nil
	})
}

func TestPageShowsSections(t *testing.T) {
	timers, _ := shop(t)
	var reads, fails atomic.Int64
	release := make(chan struct{})
	defer close(release)
	broken := inspect.NewSection("Broken", func(context.Context) ([]inspect.Block, error) {
		if fails.Add(1) > 2 {
			return nil, errors.New("<b>no</b> connection")
		}
		return []inspect.Block{{Figures: []inspect.Figure{{Name: "was", Value: "there"}}}}, nil
	})
	hangs := inspect.NewSection("Hangs", func(context.Context) ([]inspect.Block, error) { <-release; return nil, nil })
	address := serveOptions(t, &inspect.Options{Timers: timers, Sections: []inspect.Section{store(&reads), broken, hangs}})
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(address))
	b.until(live)

	const first = `document.querySelector("#sections .own")`
	b.shows("Store <b>orders</b>", first+`.querySelector("h2").textContent`) // escaped
	b.shows("1,234,567", first+`.querySelector("dd").textContent`)
	b.shows("<i>dead</i> letters", first+`.querySelectorAll("dt")[1].textContent`)
	b.shows("bad", first+`.querySelectorAll("dd")[1].className`)
	b.shows("scaleX(0.25)", first+`.querySelector(".bars i").style.transform`)
	b.shows(12, first+`.querySelectorAll("tbody tr").length`)
	b.shows("1.20\u202fms–", `[...`+first+`.querySelectorAll("tbody td")].slice(5, 7).map(td => td.textContent).join("")`)
	b.until(`Number(` + first + `.querySelectorAll("dd")[2].textContent) >= 3`) // the value changes

	b.shows("<b>no</b> connection", `document.querySelectorAll("#sections .error")[1].textContent`)
	b.shows("there", `document.querySelectorAll("#sections .own")[1].querySelector("dd").textContent`) // from before the error
	b.shows("no answer within 3s", `document.querySelectorAll("#sections .error")[2].textContent`)
	b.run(chromedp.Evaluate("window.before = "+plot, nil))
	b.until("window.before !== " + plot) // the rest of the page still updates
	b.fits(360, 740)
	problems, requests := b.seen()
	assert.Empty(t, problems)
	for _, r := range requests {
		assert.True(t, strings.HasPrefix(r, address) || strings.HasPrefix(r, "data:image/svg+xml,"), r)
	}
}

func TestExtremeContentsFitIntoThePage(t *testing.T) {
	long := strings.Repeat("w", 500)
	extreme := inspect.NewSection(long, func(context.Context) ([]inspect.Block, error) {
		figures := []inspect.Figure{
			{Name: "huge", Value: 1e300}, {Name: "hugely negative", Value: -1e300}, {Name: "most", Value: uint64(math.MaxUint64)},
			{Name: "billions", Value: 2.5e9}, {Name: "minus a million", Value: -1e6}, {Name: long, Value: long}}
		return []inspect.Block{{Title: long, Figures: figures, Bars: figures,
			Table: inspect.Table{Columns: []string{long, long}, Rows: [][]any{{long, long}}}}}, errors.New(long)
	})
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serveOptions(t, &inspect.Options{Sections: []inspect.Section{extreme}})))
	b.shows([]string{"1.00e+300", "-1.00e+300", "1.84e+19", "2.50\u202fG", "-1,000,000"},
		`[...document.querySelectorAll("#sections dd")].slice(0, 5).map(e => e.textContent)`)
	for _, width := range []int64{360, 1280} {
		b.fits(width, 900)
		b.until(`[...document.querySelectorAll(".own, .own h2, .own h3, .own dl, .own .bars b")].every(e => e.scrollWidth <= e.clientWidth + 1)`)
	}
}

func TestFaultIsShownUntilItEnds(t *testing.T) {
	var fixed atomic.Bool
	b := newBrowser(t, 800, 600)
	b.run(chromedp.Navigate(serveOptions(t, &inspect.Options{DynamicTimers: func() map[string]hwt.Timer {
		if !fixed.Load() {
			panic("no timers today")
		}
		return nil
	}})))
	const problem = `document.querySelector("#problem")`
	b.until(`!` + problem + `.hidden && ` + problem + `.textContent.includes("no timers today")`)
	fixed.Store(true)
	b.until(problem + `.hidden`)
}

func TestPageOfSectionsHasNoEmptyPanels(t *testing.T) {
	var reads atomic.Int64
	b := newBrowser(t, 1280, 900)
	b.run(chromedp.Navigate(serveOptions(t, &inspect.Options{Sections: []inspect.Section{store(&reads)}})))
	b.until(live + ` && document.querySelector("#sections dd")`)
	b.shows([]string{"own", "leaks"}, `[...document.querySelectorAll("main section")].filter(s => s.offsetParent).map(s => s.className)`)
	b.shows(true, `document.querySelector("#empty").hidden`)
}

// serveOptions serves the page with options, and returns its address.
func serveOptions(t *testing.T, options *inspect.Options) string {
	server := httptest.NewServer(inspect.Handler(options))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL + "/"
}

// TestPicturesOfSections is like TestPictures.
func TestPicturesOfSections(t *testing.T) {
	if pictures == "" {
		t.Skip("SCREENSHOTS names no folder")
	}
	var reads atomic.Int64
	failing := inspect.NewSection("Pool", func(context.Context) ([]inspect.Block, error) { return nil, errors.New("no connection") })
	b := newBrowser(t, 1280, 800)
	timers, _ := shop(t)
	for name, options := range map[string]*inspect.Options{
		"sections-alone": {Sections: []inspect.Section{store(&reads), failing}},
		"sections":       {Timers: timers, Sections: []inspect.Section{store(&reads)}},
	} {
		b.run(colors("dark"), chromedp.EmulateViewport(1280, 800), chromedp.Navigate(serveOptions(t, options)))
		time.Sleep(5 * time.Second)
		b.shoot(name + "-dark")
		b.run(colors("light"))
		b.shoot(name + "-light")
		b.run(chromedp.EmulateViewport(390, 844))
		time.Sleep(time.Second)
		b.shoot(name + "-phone")
	}
}
