package leak_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

type (
	named         struct{ name string }
	panicking     struct{}
	panickingMore struct{}
)

func (n *named) String() string { return n.name }

func (panicking) String() string { panic("no text today") }

func (panickingMore) Error() string { panic(panickingMore{}) }

func TestHintsAreShownAsText(t *testing.T) {
	var none *named
	for _, c := range []struct {
		hint any
		want string
	}{
		{nil, ""},
		{"text", "text"},
		{42, "42"},
		{errors.New("broken"), "broken"},
		{&named{"stringer"}, "stringer"},
		{none, "<nil>"},
		{struct{ A, B int }{1, 2}, "{1 2}"},
		{&struct{ A int }{1}, "*struct { A int }"}, // by type only, because its value may be changing
		{make(chan int), "chan int"},
		{func() {}, "func()"},
		{panicking{}, "%!v(PANIC=String method: no text today)"},
		{panickingMore{}, "leak_test.panickingMore that panicked"},
	} {
		assert.Equal(t, c.want, leak.TextOf(c.hint))
	}
}

func TestPanicOfAHintIsShown(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, reports := newSinkDetector()
	drop(d, func(tracker *leak.Tracker) {
		tracker.Record(panickingMore{})
		tracker.Record(panicking{})
	})
	collectUntil(t, func() bool { return len(reports.all()) > 0 })
	text := reports.all()[0].String()
	assert.Contains(t, text, "Hint: leak_test.panickingMore that panicked")
	assert.Contains(t, text, "no text today")
}

func TestHintIsTurnedIntoTextWhenItIsRecorded(t *testing.T) {
	at(t, leak.LevelParanoid)
	d, _ := newSinkDetector()
	r := &resource{}
	r.tracker = d.Track(r)
	hint := &named{"first"}
	r.tracker.Record(hint)
	hint.name = "second"
	kept, _ := r.tracker.Kept()
	assert.Equal(t, "[first]", fmt.Sprint(kept))
	assert.True(t, r.close())
}
