package durable

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

func TestFateOfAFailedAttempt(t *testing.T) {
	const backoff = -1 // any pause up to MaxBackoff
	for name, c := range map[string]struct {
		most, attempt int
		err           error
		interrupted   bool
		fate          backend.Fate
		pause         time.Duration
	}{
		"an error":                               {3, 1, io.EOF, false, backend.Retry, backoff},
		"the last attempt":                       {3, 3, io.EOF, false, backend.Bury, 0},
		"an attempt beyond a lowered limit":      {3, 9, io.EOF, false, backend.Bury, 0},
		"the only attempt":                       {1, 1, io.EOF, false, backend.Bury, 0},
		"no limit":                               {-1, 1 << 30, io.EOF, false, backend.Retry, backoff},
		"RetryAfter":                             {3, 1, RetryAfter(time.Hour), false, backend.Retry, time.Hour},
		"RetryAfter of a negative time":          {3, 1, RetryAfter(-1), false, backend.Retry, 0},
		"RetryAfter in another error":            {3, 1, errors.Join(io.EOF, fmt.Errorf("x: %w", RetryAfter(7))), false, backend.Retry, 7},
		"RetryAfter of the last attempt":         {3, 3, RetryAfter(7), false, backend.Bury, 0},
		"GiveUp":                                 {3, 1, GiveUp(io.EOF), false, backend.Bury, 0},
		"GiveUp without a limit":                 {-1, 1, fmt.Errorf("x: %w", GiveUp(io.EOF)), false, backend.Bury, 0},
		"GiveUp of a RetryAfter":                 {3, 1, GiveUp(RetryAfter(7)), false, backend.Bury, 0},
		"Postpone":                               {3, 1, Postpone(time.Hour), false, backend.Postpone, time.Hour},
		"Postpone of the last attempt":           {3, 3, Postpone(7), false, backend.Postpone, 7},
		"Postpone in another error":              {3, 1, fmt.Errorf("x: %w", Postpone(-7)), false, backend.Postpone, 0},
		"Postpone of an interrupted attempt":     {3, 1, Postpone(7), true, backend.Postpone, 7},
		"GiveUp of a Postpone":                   {3, 1, GiveUp(Postpone(7)), false, backend.Bury, 0},
		"an interrupted attempt":                 {3, 1, io.EOF, true, backend.Release, 0},
		"an interrupted last attempt":            {3, 3, io.EOF, true, backend.Release, 0},
		"RetryAfter of an interrupted attempt":   {3, 1, RetryAfter(7), true, backend.Release, 0},
		"GiveUp of an interrupted first attempt": {3, 1, GiveUp(io.EOF), true, backend.Bury, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := (&WorkOptions{MaxAttempts: c.most}).complete()
			require.NoError(t, err)
			fate, pause := o.judge(c.attempt, c.err, c.interrupted)
			require.Equal(t, c.fate, fate)
			if c.pause != backoff {
				require.Equal(t, c.pause, pause)
			}
			require.GreaterOrEqual(t, pause, time.Duration(0))
			require.LessOrEqual(t, pause, max(o.MaxBackoff, c.pause))
		})
	}
}

// errPanics is an error with a text that panics.
type errPanics struct{}

func (errPanics) Error() string { panic("no text") }

// The columns of PostgreSQL and SQLite take up to 1 KB of UTF-8.
func TestStoredTextOfAnErrorIsShortAndValid(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"a short text":           {io.EOF, "EOF"},
		"bytes outside of UTF-8": {errors.New("a\xff\xfeb"), "ab"},
		"a zero byte":            {errors.New("a\x00b"), "a\x00b"},
		"the largest text":       {errors.New(strings.Repeat("x", 1024)), strings.Repeat("x", 1024)},
		"a text too long":        {errors.New(strings.Repeat("x", 1025)), strings.Repeat("x", 1024)},
		"a rune that is cut":     {errors.New(strings.Repeat("x", 1023) + "ä"), strings.Repeat("x", 1023)},
		"no text":                {errors.New(""), ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.text, errorText(c.err)) })
	}
	text := errorText(errPanics{})
	require.Contains(t, text, "PANIC=Error method: no text")
	require.True(t, utf8.ValidString(text))
}

func TestGiveUpOfNilIsNil(t *testing.T) { require.NoError(t, GiveUp(nil)) }
