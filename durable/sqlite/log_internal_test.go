package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogWithoutItsHeaderIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		log    string
		frames int
		cut    bool
	}{
		"a log":                             {"\x37\x7f\x06\x82", 1, false},
		"a log of a big-endian machine":     {"\x37\x7f\x06\x83", 1, false},
		"an empty log without frames":       {"", 0, false},
		"an overwritten log without frames": {"\x00\x00\x00\x00", 0, false},
		"an empty log":                      {"", 1, true},
		"a short log":                       {"\x37\x7f\x06", 1, true},
		"a log with a hole":                 {"\x00\x00\x00\x00", 1, true},
		"another file":                      {"SQLite format 3", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			require.NoError(t, os.WriteFile(path, []byte(c.log), 0o600))
			log, err := os.Open(path)
			require.NoError(t, err)
			defer log.Close()
			require.Equal(t, c.cut, (&storeFiles{log: log}).isLogCut(c.frames))
			require.NoError(t, log.Close())
			require.False(t, (&storeFiles{log: log}).isLogCut(1), "another error says nothing")
		})
	}
}
