package check

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

func TestMain(m *testing.M) {
	proc.Run(map[string]proc.Role{"clock": runClock, "check": proc.Of(Run), "killer": proc.Of(runKiller)})
	os.Exit(m.Run())
}

// runClock is a process that ends when its wall clock is an hour ahead of elapsed time.
func runClock(json.RawMessage) error {
	begin, ended := time.Now(), proc.ParentEnded()
	proc.Ready()
	for ; ; time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			return nil
		default:
		}
		now := time.Now()
		wall, elapsed := now.Round(0).Sub(begin.Round(0)), now.Sub(begin)
		if step := (wall - elapsed).Round(time.Second); step == time.Hour {
			return os.WriteFile(os.Getenv("STEPPED"), []byte(step.String()), 0o600)
		}
	}
}
