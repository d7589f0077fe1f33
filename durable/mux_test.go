package durable_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// workMux starts a WorkMux. The returned function ends it and waits for it.
func (f *fixture) workMux(m *durable.Mux) (end func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan error, 1)
	go func() { done <- f.WorkMux(ctx, m) }()
	return func() {
		cancel()
		assert.NoError(f.t, <-done)
	}
}

// noted returns a handler that notes the firing under a name and then calls handler, if there is one.
func (f *fixture) noted(name string, handler durable.Handler) durable.Handler {
	return func(ctx context.Context, firing durable.Firing) error {
		firing.Key = name + " " + firing.Key
		f.note(firing)
		if handler == nil {
			return nil
		}
		return handler(ctx, firing)
	}
}

func (f *fixture) firings() []durable.Firing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

func (f *fixture) firedKeys() (keys []string) {
	for _, firing := range f.firings() {
		keys = append(keys, firing.Key)
	}
	return keys
}

func hang(ctx context.Context, _ durable.Firing) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestMuxCallsTheHandlerOfTheKind(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i, key := range []string{"mail/1", "mail/a/b", "mailing/1", "call/1", "plain", "/"} {
			f.setIn(key, time.Duration(i+1)*time.Second)
		}
		var m durable.Mux
		m.Handle("mail/", f.noted("mail", nil), nil)
		m.Handle("call/", f.noted("call", nil), nil)
		m.Handle("/", f.noted("rest", nil), nil)
		end := f.workMux(&m)
		time.Sleep(time.Minute)
		end()
		assert.Equal(t, []string{"mail mail/1", "mail mail/a/b", "rest mailing/1", "call call/1", "rest plain", "rest /"}, f.firedKeys())
		kinds := f.stats().Kinds
		require.Len(t, kinds, 3)
		for i, want := range []struct {
			pattern string
			fired   int64
		}{{"/", 3}, {"call/", 1}, {"mail/", 2}} {
			assert.Equal(t, want.pattern, kinds[i].Pattern)
			assert.Equal(t, want.fired, kinds[i].Fired)
			assert.Equal(t, want.fired, kinds[i].Succeeded)
		}
		assert.EqualValues(t, 6, f.stats().Fired)
	})
}

// muxDatabases are the ways in which databases lease rows of kinds.
var muxDatabases = map[string]func(*faulty){"lane per kind": func(*faulty) {}, "leases marked": marked, "kinds together": together}

func TestUnhandledKindWaitsForAWorker(t *testing.T) {
	for name, change := range muxDatabases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				var old, new durable.Mux
				old.Handle("old/", f.noted("old", nil), nil)
				new.Handle("new/", f.noted("new", nil), nil)
				defer f.workMux(&old)()
				f.setIn("new/overdue", 0)
				f.setIn("new/1", time.Second)
				f.setIn("plain", time.Second)
				f.setIn("old/1", 2*time.Second)
				time.Sleep(10 * time.Second)
				assert.Equal(t, []string{"old old/1"}, f.firedKeys())
				defer f.workMux(&new)()
				time.Sleep(10 * time.Second)
				assert.ElementsMatch(t, []string{"old old/1", "new new/overdue", "new new/1"}, f.firedKeys())
				assert.Equal(t, []string{"plain"}, f.keys())
			}, change)
		})
	}
}

// During a deployment, workers of two releases run. Only the new one knows the new kind, whether the old
// one starts before it or after it.
func TestRollingDeploymentFiresNoKindWrongly(t *testing.T) {
	for name, change := range muxDatabases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				var old, new durable.Mux
				old.Handle("old/", f.noted("old", nil), nil)
				new.Handle("old/", f.noted("new", nil), nil)
				new.Handle("new/", f.noted("new", nil), nil)
				set := func() {
					for range 50 {
						f.setIn(fmt.Sprint("new/", len(f.firings()), time.Now().UnixNano()), 0)
						f.setIn(fmt.Sprint("old/", time.Now().UnixNano()), time.Second)
						time.Sleep(20 * time.Millisecond)
					}
				}
				first := f.workMux(&old)
				set()
				second := f.workMux(&new)
				set()
				time.Sleep(5 * time.Second)
				first()
				defer second()
				defer f.workMux(&old)()
				time.Sleep(10 * time.Second)
				counts := map[string]int{}
				for _, key := range f.firedKeys() {
					counts[strings.SplitAfter(key, "/")[0]]++
				}
				assert.Equal(t, 100, counts["new new/"])
				assert.Equal(t, 100, counts["new old/"]+counts["old old/"])
				assert.Zero(t, counts["old new/"])
				assert.Positive(t, counts["old old/"])
			}, change)
		})
	}
}

// The handler of the entry may have run: a Cancel must not succeed until a worker of its kind has come.
func TestClaimedEntryOfAnotherKindStaysClaimed(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var dying, other, same durable.Mux
		dying.Handle("a/", f.noted("dying", func(ctx context.Context, _ durable.Firing) error {
			f.b.set("Heartbeat", errMute) // until the lease ends
			f.b.set("Finish", errMute)
			<-ctx.Done()
			f.b.set("Heartbeat", nil)
			f.b.set("Finish", nil)
			return ctx.Err()
		}), nil)
		other.Handle("b/", f.noted("other", nil), nil)
		same.Handle("a/", f.noted("same", nil), nil)
		f.setIn("a/1", time.Second)
		end := f.workMux(&dying)
		time.Sleep(1500 * time.Millisecond)
		defer f.workMux(&other)()
		end()
		time.Sleep(20 * time.Second)
		assert.Equal(t, []string{"dying a/1"}, f.firedKeys())
		assert.Empty(t, f.keys(), "still claimed")
		_, err := f.Cancel(t.Context(), "a/1")
		require.ErrorIs(t, err, durable.ErrFired)
		defer f.workMux(&same)()
		time.Sleep(10 * time.Second)
		assert.Equal(t, []string{"dying a/1", "same a/1"}, f.firedKeys())
	})
}

func TestKindThatHangsDelaysNoOther(t *testing.T) {
	for name, change := range map[string]func(*faulty){"lane per kind": func(*faulty) {}, "kinds together": together, "rest handled": func(*faulty) {}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				var m durable.Mux
				m.Handle("slow/", hang, &durable.WorkOptions{Concurrency: 2, MaxHeld: 20, DrainTimeout: -1})
				m.Handle("quick/", f.noted("", nil), &durable.WorkOptions{MaxHeld: 200, DrainTimeout: -1})
				if name == "rest handled" {
					m.Handle("/", hang, &durable.WorkOptions{DrainTimeout: -1})
				}
				for i := range 300 { // more than the kinds may hold together
					f.setIn(fmt.Sprint("slow/", i), time.Duration(i)*5*time.Millisecond)
				}
				defer f.workMux(&m)()
				for i := range 100 { // before and after the worker begins
					f.setIn(fmt.Sprint("quick/", i), 2*time.Second+time.Duration(i)*10*time.Millisecond)
				}
				time.Sleep(10 * time.Second)
				require.Len(t, f.firings(), 100)
				for i, firing := range f.firings() {
					assert.Less(t, firing.Lateness, 100*time.Millisecond, i)
				}
			}, change)
		})
	}
}

// The role may not create an index. With the pattern "/", the worker needs none.
func TestWorkMuxReturnsTheErrorOfItsIndex(t *testing.T) {
	for pattern, want := range map[string]error{"mail/": errGone, "/": nil} {
		t.Run(pattern, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.b.set("PrepareKinds", errGone)
				var m durable.Mux
				m.Handle("sms/", hang, nil)
				m.Handle(pattern, hang, nil)
				ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
				defer cancel()
				err := f.WorkMux(ctx, &m)
				require.ErrorIs(t, err, want)
				if want != nil {
					require.ErrorContains(t, err, "durable: WorkMux: ")
				}
			})
		})
	}
}

func TestInvalidMuxIsNamed(t *testing.T) {
	handler := func(context.Context, durable.Firing) error { return nil }
	for name, test := range map[string]struct {
		change func(m *durable.Mux)
		want   string
	}{
		"no pattern":       {func(*durable.Mux) {}, "a Mux without a pattern (expected: 1 or more)"},
		"empty pattern":    {func(m *durable.Mux) { m.Handle("", handler, nil) }, `pattern "" of 0 bytes (expected: 1 to 512, with one slash, at the end)`},
		"no slash":         {func(m *durable.Mux) { m.Handle("mail", handler, nil) }, `pattern "mail" of 4 bytes`},
		"two slashes":      {func(m *durable.Mux) { m.Handle("a/b/", handler, nil) }, `pattern "a/b/" of 4 bytes`},
		"long pattern":     {func(m *durable.Mux) { m.Handle(strings.Repeat("k", 512)+"/", handler, nil) }, `of 513 bytes`},
		"same pattern":     {func(m *durable.Mux) { m.Handle("a/", handler, nil); m.Handle("a/", handler, nil) }, `pattern "a/" twice`},
		"no handler":       {func(m *durable.Mux) { m.Handle("a/", nil, nil) }, `handler nil of pattern "a/"`},
		"negative timeout": {func(m *durable.Mux) { m.Handle("a/", handler, &durable.WorkOptions{Timeout: -1}) }, `pattern "a/": durable: invalid argument: WorkOptions.Timeout: -1ns (expected: 0 for no limit, or 1ms to 8760h)`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				var m durable.Mux
				test.change(&m)
				err := f.WorkMux(f.t.Context(), &m)
				require.ErrorIs(t, err, durable.ErrInvalid)
				require.ErrorContains(t, err, "durable: WorkMux: ")
				require.ErrorContains(t, err, test.want)
			})
		})
	}
}

func TestTimeoutEndsTheAttempt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var cause error
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			if firing.Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		}, &durable.WorkOptions{Timeout: 3 * time.Second, BaseBackoff: time.Millisecond})()
		f.setIn("k", time.Second)
		time.Sleep(10 * time.Second)
		require.Len(t, f.firings(), 2)
		assert.Equal(t, 2, f.firings()[1].Attempt, "the attempt counts")
		assert.ErrorIs(t, cause, durable.ErrTimeout)
		assert.ErrorIs(t, cause, context.DeadlineExceeded)
		assert.Zero(t, f.stats().Overtime)
	})
}

func TestHandlerThatIgnoresItsTimeoutIsLogged(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("stuck/", ignoreTheTimeout, &durable.WorkOptions{Concurrency: 1, Timeout: time.Second})
		m.Handle("fine/", f.noted("", nil), &durable.WorkOptions{Concurrency: 1, Timeout: time.Second})
		end := f.workMux(&m)
		f.setIn("stuck/1", time.Second)
		f.setIn("fine/1", 20*time.Second)
		time.Sleep(time.Minute)
		end()
		assert.Equal(t, 1, strings.Count(f.log.String(), "ignored the end"))
		assert.Contains(t, f.log.String(), "key=stuck/1")
		assert.Contains(t, f.log.String(), "ignoreTheTimeout")
		require.Len(t, f.firings(), 1)
		assert.Zero(t, f.firings()[0].Lateness)
		for _, k := range f.stats().Kinds {
			assert.Equal(t, map[string]int64{"stuck/": 1, "fine/": 0}[k.Pattern], k.Overtime, k.Pattern)
		}
	})
}

// ignoreTheTimeout is a handler that the log names.
func ignoreTheTimeout(context.Context, durable.Firing) error {
	time.Sleep(30 * time.Second)
	return nil
}

func TestKeyHasAKindAndAName(t *testing.T) {
	for key, want := range map[string][2]string{"mail/1": {"mail", "1"}, "mail/a/b": {"mail", "a/b"}, "mail/": {"mail", ""}, "plain": {"", "plain"}, "/x": {"", "x"}} {
		t.Run(key, func(t *testing.T) {
			f := durable.Firing{Entry: durable.Entry{Key: key}}
			assert.Equal(t, want, [2]string{f.Kind(), f.Name()})
		})
	}
}
