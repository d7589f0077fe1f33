package backend_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Each of 150 series misses occurrences every 5 s.
func TestTroubleBoundsCausesPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		var trouble backend.Trouble
		log := func(message, cause string) {
			trouble.Log(slog.New(slog.NewTextHandler(&text, nil)), slog.LevelInfo, message, cause)
		}
		lines := func() int { return bytes.Count(text.Bytes(), []byte("\n")) }
		for minute := range 3 {
			for range 12 {
				log("other", "cause")
				for i := range 150 {
					log("missed", fmt.Sprint(minute, i))
				}
				time.Sleep(5 * time.Second)
			}
			assert.Equal(t, (minute+1)*101, lines())
		}
	})
}
