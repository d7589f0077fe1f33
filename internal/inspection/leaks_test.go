package inspection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLastLeaksAreKept(t *testing.T) {
	leaks = nil
	assert.Equal(t, []Leak{}, Leaks(), "not null in JSON")
	for i := range maxLeaks + 5 {
		AddLeak("pool.Conn", fmt.Sprint("leak ", i))
	}
	AddLeak("pool.Conn", strings.Repeat("x", 2*maxLeakText))
	leaks := Leaks()
	assert.Len(t, leaks, maxLeaks)
	assert.Less(t, len(leaks[0].Text), maxLeakText+10)
	assert.Equal(t, "leak 24", leaks[1].Text)
	assert.Equal(t, "leak 6", leaks[maxLeaks-1].Text)
}
