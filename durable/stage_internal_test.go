package durable

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Each stage but the last has a way to dropped, and none leads back from it.
func TestEveryStageEndsInDropped(t *testing.T) {
	for from := accepted; from <= dropped; from++ {
		t.Run(from.String(), func(t *testing.T) {
			reached, next := map[stage]bool{from: true}, []stage{from}
			for len(next) > 0 {
				for _, to := range follows[next[0]] {
					if !reached[to] {
						reached[to] = true
						next = append(next, to)
					}
				}
				next = next[1:]
			}
			require.True(t, reached[dropped])
			require.False(t, from != accepted && reached[accepted], "a row is accepted once")
			require.Equal(t, from == dropped, len(follows[from]) == 0)
			require.False(t, from.mayBecome(from))
		})
	}
}

func TestOnlyAClaimedRowFires(t *testing.T) {
	before := map[stage][]stage{}
	for from, all := range follows {
		for _, to := range all {
			before[to] = append(before[to], stage(from))
		}
	}
	for to, from := range map[stage][]stage{
		firing:  {queued},
		storing: {finished},
		queued:  {waiting, limited},
		limited: {firing},
	} {
		t.Run(to.String(), func(t *testing.T) { require.ElementsMatch(t, from, before[to]) })
	}
}

func TestFeedKeepsAPositionPerPassedGroup(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(d *feed)
		main, behind int64 // due times of the positions; -1 is no position
		passed       map[string]int64
	}{
		"nothing passed":         {func(*feed) {}, 100, -1, map[string]int64{}},
		"two groups":             {func(d *feed) { d.pass("a"); d.main.mark.Due = 200; d.pass("b") }, 200, -1, map[string]int64{"a": 100, "b": 200}},
		"one rejoins":            {func(d *feed) { d.pass("a"); d.pass("b"); d.rejoin(d.passed[0]) }, 100, -1, map[string]int64{"b": 100}},
		"sweep":                  {func(d *feed) { d.restart(backend.Cursor{Due: 90}) }, 0, -1, map[string]int64{}},
		"sweep beside a group":   {func(d *feed) { d.pass("a"); d.restart(backend.Cursor{Due: 90}) }, 90, 0, map[string]int64{"a": 90}},
		"sweep of old positions": {func(d *feed) { d.pass("a"); d.restart(backend.Cursor{Due: 150}) }, 100, 0, map[string]int64{"a": 100}},
		"group during a sweep": {func(d *feed) {
			d.pass("a")
			d.restart(backend.Cursor{Due: 90})
			d.behind.mark.Due = 50
			d.pass("b")
		}, 90, 50, map[string]int64{"a": 90, "b": 50}},
		"second sweep": {func(d *feed) {
			d.pass("a")
			d.restart(backend.Cursor{Due: 90})
			d.behind.mark.Due = 50
			d.restart(backend.Cursor{Due: 95})
		}, 90, 50, map[string]int64{"a": 90}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFeed(&kind{})
			d.main.mark.Due, d.sweep = 100, true
			c.change(d)
			require.Equal(t, c.main, d.main.mark.Due)
			behind := int64(-1)
			if d.behind != nil {
				behind = d.behind.mark.Due
			}
			require.Equal(t, c.behind, behind)
			passed := map[string]int64{}
			for _, p := range d.passed {
				passed[*p.group] = p.mark.Due
			}
			require.Equal(t, c.passed, passed)
			require.Len(t, d.positions(), 1+len(passed))
			require.Len(t, d.groups(), len(passed))
		})
	}
}

func TestKindsOfAWorkTakeTheirKeys(t *testing.T) {
	mail, rest := &kind{name: "mail/"}, &kind{}
	for name, c := range map[string]struct {
		kinds kinds
		want  map[string]*kind
	}{
		"one":      {kinds{"mail/": mail}, map[string]*kind{"mail/1": mail, "mail/": mail, "mailing/1": nil, "mail": nil, "/mail/": nil}},
		"and rest": {kinds{"mail/": mail, "": rest}, map[string]*kind{"mail/1": mail, "mailing/1": rest, "mail": rest, "/mail/": rest}},
		"all":      {kinds{"": rest}, map[string]*kind{"mail/1": rest, "": rest}},
	} {
		for key, want := range c.want {
			t.Run(fmt.Sprintf("%s/%q", name, key), func(t *testing.T) { require.Same(t, want, c.kinds.of(key)) })
		}
	}
}

func TestNewVersionForgetsCrashesOfThePostponedRow(t *testing.T) {
	for fate, want := range map[backend.Fate]int{backend.Postpone: 1, backend.Retry: 2} {
		t.Run(fmt.Sprint(fate), func(t *testing.T) {
			row := backend.Row{Key: "k", Generation: 3, Attempt: 1, Origin: 3, Nonce: 4, State: backend.Claimed, Holder: 7, Crashes: 2, Tried: true}
			o := backend.Outcome{Ref: row.Ref(), Fate: fate, Due: 99}
			change, applied := o.Decide(&row, 7, 50, 9)
			require.True(t, applied)
			require.Equal(t, []backend.Row{{Key: "k", Generation: 9, Due: 99, Attempt: want, Origin: 3, Nonce: 4}}, change.Put)
			_, applied = o.Decide(&row, 8, 50, 9)
			require.False(t, applied, "of another worker")
		})
	}
}
