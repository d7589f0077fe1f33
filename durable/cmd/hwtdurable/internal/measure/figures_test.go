package measure

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

func TestMain(m *testing.M) {
	proc.Run(map[string]proc.Role{"fill": proc.Of(Fill)})
	os.Exit(m.Run())
}

// A terminal sends Ctrl-C to all processes. The parent reports the interrupt, and ends the others.
func TestRoleIgnoresCtrlC(t *testing.T) {
	p, err := proc.Start(t.Context(), "fill", Filling{place.Place{File: filepath.Join(t.TempDir(), "store.db")}, 1})
	require.NoError(t, err)
	process, err := os.FindProcess(p.PID())
	require.NoError(t, err)
	if err := process.Signal(os.Interrupt); err != nil {
		p.Kill()
		t.Skip(err) // Windows
	}
	require.NoError(t, p.Stop(time.Minute))
}

// Each round has time for more than its share of the entries.
func TestRoundsUseDifferentEntries(t *testing.T) {
	f := Figures{Rounds: 10, Entries: 4000, For: time.Second, dir: t.TempDir(), cells: make(map[string][]float64)}
	c := columns[1]
	require.NoError(t, f.sizes(t.Context(), c))
	require.Len(t, f.cells["Cancel by 64 goroutines"+c.name], f.Rounds)
}

func TestSlowFiringsAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		go func() {
			for range 3 {
				time.Sleep(50 * time.Second)
				require.NoError(t, r.handle(t.Context(), durable.Firing{Entry: durable.Entry{Due: time.Now()}}))
			}
		}()
		require.NoError(t, r.await(t.Context(), 3))
		require.Error(t, r.await(t.Context(), 4))
	})
}

func TestKindsHaveAValueInEachRow(t *testing.T) {
	if testing.Short() {
		t.Skip("fires a hundred thousand entries")
	}
	f := Figures{Rounds: 1, Entries: 1000, For: time.Second, dir: t.TempDir(), cells: make(map[string][]float64)}
	require.NoError(t, f.kinds(t.Context(), columns[0], t.Output()))
	for _, r := range kindRows {
		require.Len(t, f.cells[r.name+columns[0].name], 1, r.name)
		require.Positive(t, f.cells[r.name+columns[0].name][0], r.name)
	}
}
