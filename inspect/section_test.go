package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/inspect"
)

// sections returns a handler that shows sections.
func sections(all ...inspect.Section) http.Handler {
	return inspect.Handler(&inspect.Options{Sections: all})
}

// constant is a section with one figure.
func constant(title string, value any) inspect.Section {
	return inspect.NewSection(title, func(context.Context) ([]inspect.Block, error) {
		return []inspect.Block{{Figures: []inspect.Figure{{Name: "value", Value: value}}}}, nil
	})
}

// broken is a section whose Read fails.
func broken(title string, f func(ctx context.Context) error) inspect.Section {
	return inspect.NewSection(title, func(ctx context.Context) ([]inspect.Block, error) { return nil, f(ctx) })
}

type read struct {
	Sections []readSection
}

type readSection struct {
	Index  int
	Title  string
	Error  string
	Took   int64 `json:"took_ns"`
	Blocks []struct {
		Title         string
		Figures, Bars []struct {
			Name  string
			Value any
			Bad   bool
		}
		Columns []string
		Rows    [][]any
		More    int
	}
}

// readOf requests the sections of a handler.
func readOf(t *testing.T, h http.Handler) []readSection {
	t.Helper()
	return decode[read](t, get(h, "sections.json").Body).Sections
}

// named is a number with a String method.
type named int

func (n named) String() string { return fmt.Sprintf("number %d", int(n)) }

// nilSection is a section that nil pointers do not implement.
type nilSection struct{ inspect.Section }

func TestSectionsAreShownInOrder(t *testing.T) {
	h := sections(constant("b", 1), nil, (*nilSection)(nil), constant("a", 2), constant("c", 3))
	got := readOf(t, h)
	require.Len(t, got, 3)
	for i, title := range []string{"b", "a", "c"} {
		assert.Equal(t, title, got[i].Title)
		assert.Equal(t, i, got[i].Index)
		assert.EqualValues(t, i+1, got[i].Blocks[0].Figures[0].Value)
	}
	assert.Regexp(t, `(?s)^b\n  value  1\n\na\n  value  2\n\nc\n  value  3\n`, get(h, "").Body.String())
	assert.Empty(t, readOf(t, sections()))
}

func TestValuesKeepTheirKinds(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		value, shown any
		plain        string
	}{
		{7, 7.0, "7"},
		{uint8(7), 7.0, "7"},
		{time.Month(1), "January", "January"},
		{2.5, 2.5, "2.5"},
		{math.NaN(), "NaN", "NaN"},
		{math.Inf(1), "+Inf", "+Inf"},
		{true, true, "true"},
		{"text", "text", "text"},
		{nil, nil, "-"},
		{1500 * time.Millisecond, map[string]any{"ns": 1.5e9}, "1.5s"},
		{at, map[string]any{"time": "2026-01-02T03:04:05Z"}, "2026-01-02T03:04:05Z"},
		{time.Time{}, nil, "-"},
		{at.In(time.FixedZone("", 25*60*60)), map[string]any{"time": "2026-01-02T03:04:05Z"}, "2026-01-02T03:04:05Z"},
		{at.AddDate(10_000, 0, 0), nil, "-"},
		{named(3), "number 3", "number 3"},
		{errors.New("no"), "no", "no"},
		{[]int{1, 2}, "[1 2]", "[1 2]"},
	} {
		h := sections(constant("kinds", c.value))
		assert.Equal(t, c.shown, readOf(t, h)[0].Blocks[0].Figures[0].Value, "%T", c.value)
		assert.Contains(t, get(h, "").Body.String(), "value  "+c.plain+"\n", "%T", c.value)
	}
}

func TestTextOfSectionsIsEscaped(t *testing.T) {
	const bad = "<script>alert(1)</script>\x1b[2J\nevent: stats\u202e"
	h := sections(inspect.NewSection(bad, func(context.Context) ([]inspect.Block, error) {
		return []inspect.Block{{
			Title:   bad,
			Figures: []inspect.Figure{{Name: bad, Value: bad}},
			Bars:    []inspect.Figure{{Name: bad, Value: 1}},
			Table:   inspect.Table{Columns: []string{bad}, Rows: [][]any{{bad}}},
		}}, errors.New(bad)
	}))
	for _, path := range []string{"sections.json", ""} {
		body := get(h, path).Body.String()
		assert.NotContains(t, body, "\x1b", path)
		assert.NotContains(t, body, "\nevent", path)
		assert.NotContains(t, body, "\u202e", path)
	}
	assert.NotContains(t, get(h, "sections.json").Body.String(), "<script>")
	assert.Equal(t, "<script>alert(1)</script>\ufffd[2J\ufffdevent: stats\ufffd", readOf(t, h)[0].Blocks[0].Title)
}

func TestLongSectionsAreCut(t *testing.T) {
	figures, rows := make([]inspect.Figure, 150), make([][]any, 130)
	rows[0] = []any{1, 2, 3}
	blocks := []inspect.Block{{Figures: figures, Table: inspect.Table{Columns: []string{"a", "b"}, Rows: rows}}}
	h := sections(constant("long", strings.Repeat("ä", 5000)), inspect.NewSection("many", func(context.Context) ([]inspect.Block, error) {
		return append(blocks, make([]inspect.Block, 30)...), nil
	}))
	got := readOf(t, h)
	long := []rune(got[0].Blocks[0].Figures[0].Value.(string))
	assert.Len(t, long, 500)
	assert.Equal(t, '…', long[499])
	require.Len(t, got[1].Blocks, 20)
	b := got[1].Blocks[0]
	assert.Len(t, b.Figures, 100)
	assert.Len(t, b.Rows, 100)
	assert.Equal(t, 50+30, b.More)
	assert.Equal(t, []any{1.0, 2.0}, b.Rows[0])
	assert.Equal(t, []any{"", ""}, b.Rows[1])
	assert.Contains(t, get(h, "").Body.String(), "and 80 more")
}

func TestFailedSectionShowsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := sections(
			broken("error", func(context.Context) error { return errors.New("no connection") }),
			broken("panic", func(context.Context) error { panic("a bug") }),
			broken("exit", func(context.Context) error { runtime.Goexit(); return nil }),
			broken("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }),
			inspect.NewSection("partly", func(context.Context) ([]inspect.Block, error) {
				return []inspect.Block{{Title: "partial"}}, errors.New("not all")
			}),
			constant("good", 1),
			broken("slow, too", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
		for range 2 { // a section that failed is read again
			start := time.Now()
			got := readOf(t, h)
			assert.Equal(t, 3*time.Second, time.Since(start), "the sections are read concurrently")
			assert.Equal(t, "no connection", got[0].Error)
			assert.Contains(t, got[1].Error, "a bug")
			assert.Contains(t, got[2].Error, "Goexit")
			assert.Equal(t, "no answer within 3s", got[3].Error)
			assert.Equal(t, "not all", got[4].Error)
			assert.Equal(t, "partial", got[4].Blocks[0].Title)
			assert.Empty(t, got[5].Error)
			assert.EqualValues(t, 1, got[5].Blocks[0].Figures[0].Value)
			time.Sleep(time.Second)
		}
		assert.Contains(t, get(h, "").Body.String(), "error\n  error: no connection\n")
		synctest.Wait()
	})
}

// fault is an error whose nil pointer panics.
type fault struct{ text string }

func (f *fault) Error() string { return f.text }

func TestSectionErrorThatPanicsIsShown(t *testing.T) {
	h := sections(broken("typed nil", func(context.Context) error { return (*fault)(nil) }), constant("good", 1))
	got := readOf(t, h)
	assert.Contains(t, got[0].Error, "nil pointer dereference")
	assert.EqualValues(t, 1, got[1].Blocks[0].Figures[0].Value)
}

// The section's Read ignores its context.
func TestHangingSectionIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		release := make(chan struct{})
		h := sections(broken("hangs", func(context.Context) error { calls.Add(1); <-release; return nil }), constant("good", 1))
		ctx, cancel := context.WithCancel(t.Context())
		w := open(ctx, h)
		var errs []string
		good := 0
		for len(errs) < 3 {
			w.next(t, "stats") // the page still updates
			s := decode[readSection](t, strings.NewReader(w.next(t, "section")))
			if s.Title == "good" {
				good++
				continue
			}
			errs = append(errs, s.Error)
		}
		assert.Equal(t, []string{"no answer within 3s", "the previous read has not returned", "the previous read has not returned"}, errs)
		assert.Greater(t, good, 10, "the other section still updates")
		assert.EqualValues(t, 1, calls.Load())
		close(release)
		synctest.Wait()
		assert.Empty(t, readOf(t, h)[0].Error, "the section is read again after it returned")
		cancel()
		for range w.events {
		}
	})
}

// TestSectionsAreReadWhileAPageIsOpen counts the calls. Calls in progress end when the last
// page closes.
func TestSectionsAreReadWhileAPageIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, ended atomic.Int64
		h := sections(
			broken("quick", func(context.Context) error { calls.Add(1); return nil }),
			broken("waits", func(ctx context.Context) error { <-ctx.Done(); ended.Add(1); return ctx.Err() }))
		time.Sleep(time.Minute)
		require.Zero(t, calls.Load())
		for range 2 {
			calls.Store(0)
			ended.Store(0)
			ctx, cancel := context.WithCancel(t.Context())
			w := open(ctx, h)
			assert.Contains(t, w.next(t, "hello"), `"sections":["quick","waits"]`)
			go func() {
				for range w.events {
				}
			}()
			time.Sleep(time.Second)
			assert.EqualValues(t, 1, calls.Load())
			time.Sleep(1500 * time.Millisecond)
			assert.EqualValues(t, 2, calls.Load())
			assert.Zero(t, ended.Load())
			cancel()
			synctest.Wait()
			assert.EqualValues(t, 1, ended.Load(), "the context ended with the page")
			time.Sleep(time.Minute)
			assert.EqualValues(t, 2, calls.Load())
		}
	})
}

func TestSectionContextEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := sections(broken("waits", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }))
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/sections.json", nil)
		require.NoError(t, err)
		h.ServeHTTP(httptest.NewRecorder(), r)
		assert.Equal(t, time.Second, time.Since(start))
	})
}
