package durable

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

func TestShareOfAGroup(t *testing.T) {
	for _, c := range []struct{ most, handlers, passed, share int }{
		{50_000, 64, 0, 6250},
		{50_000, 64, 10, 4166},
		{1000, 64, 0, 500}, // the handlers need more than an eighth
		{400, 1, 0, 50},
		{1, 1, 0, 1},
		{8, 1, 32, 1},
	} {
		m := &memory{most: c.most, least: overdueAhead * c.handlers, passed: make(map[string]bool)}
		for i := range c.passed {
			m.passed[fmt.Sprint(i)] = true
		}
		require.Equal(t, c.share, m.share(), "%+v", c)
	}
}

func TestLargestGroupsArePassedOver(t *testing.T) {
	m := &memory{most: 1000, least: 8}
	m.count("", 1)
	require.Nil(t, m.pass(), "rows without a group only")
	for range 300 {
		m.count("", 1)
		m.count("a", 1)
	}
	for range 200 {
		m.count("b", 1)
	}
	for range 20 {
		m.count("c", 1)
	}
	require.Equal(t, []string{"", "a", "b"}, m.pass())
	require.Nil(t, m.pass())
	for i := range 2 * maxPassed {
		for range m.most {
			m.count(fmt.Sprint(i), 1)
		}
	}
	require.Len(t, m.pass(), maxPassed-3)
}

func TestMemoryKeepsRoomForFurtherGroups(t *testing.T) {
	m := &memory{most: 80, least: 8}
	require.Equal(t, 10, m.roomFor(nil), "the first look")
	m.count("", 1)
	require.Equal(t, 79, m.roomFor(nil))
	m.count("a", 1)
	group := "a"
	require.Equal(t, 10, m.roomFor(nil), "a share")
	require.Equal(t, 9, m.roomFor(&group))
	for range 67 {
		m.count("b", 1)
	}
	require.Equal(t, 1, m.roomFor(nil))
	require.True(t, m.sated("b") && !m.sated("a"))
	m.pass()
	for range 61 {
		require.False(t, m.count("b", -1))
	}
	require.True(t, m.count("b", -1), "half of the share is free")
}

// A sweep behind main may not yet have read the rows of a group that main passes over from now on.
func TestPassedGroupBeginsBehindMain(t *testing.T) {
	d := newFeed(&kind{})
	d.main.mark = backend.Cursor{Due: 9}
	d.pass("a")
	require.Equal(t, d.main.mark, d.passed[0].mark)
	d.restart(backend.Cursor{Due: 5})
	require.EqualValues(t, 5, d.main.mark.Due)
	require.EqualValues(t, 5, d.passed[0].mark.Due)
	d.behind.mark = backend.Cursor{Due: 3}
	d.pass("b")
	require.EqualValues(t, 3, d.passed[1].mark.Due)
	d.rejoin(d.passed[0])
	d.rejoin(d.passed[0])
	d.restart(backend.Cursor{Due: 5})
	require.Zero(t, d.main.mark)
	require.Nil(t, d.behind, "main reads all rows")
}
