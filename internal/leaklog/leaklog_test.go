package leaklog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheLatestReportsAreKept(t *testing.T) {
	for i := range keep + 5 {
		Add("pool.Conn", fmt.Sprint("leak ", i))
	}
	Add("pool.Conn", strings.Repeat("x", 2*maxText))
	entries := Latest()
	assert.Len(t, entries, keep)
	assert.Less(t, len(entries[0].Text), maxText+10)
	assert.Equal(t, "leak 24", entries[1].Text)
	assert.Equal(t, "leak 6", entries[keep-1].Text)
}
