package durable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzColumns decodes the texts of columns. A text that is no damage is decoded to a value that survives its column,
// and any text may be the error of a run.
func FuzzColumns(f *testing.F) {
	f.Add("0 0 @every 5m", "")
	f.Add("-3:2 7 ", "a 1:2 b")
	f.Add("\x01h\x02vw", "\xff")
	f.Add("a\x00 \n\xff", "")
	f.Fuzz(func(t *testing.T, text, other string) {
		if e, err := decodeEvery(text, other); err == nil {
			again, err := decodeEvery(e.encode())
			require.NoError(t, err)
			require.Equal(t, e, again)
		}
		if headers, err := decodeHeaders(text); err == nil {
			if encoded, err := encodeHeaders(headers); err == nil {
				again, err := decodeHeaders(encoded)
				require.NoError(t, err)
				require.Equal(t, headers, again)
			}
		}
		r := &Run{Due: time.Unix(0, int64(len(text))).UTC(), Began: time.Unix(0, 0).UTC(), Took: time.Duration(len(other)), Attempt: 7, Outcome: GaveUp, Error: text}
		again, err := decodeRun(r.encode())
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
