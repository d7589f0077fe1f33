package check

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// A process reads its clocks by a function that the kernel maps into it. In a process
// whose clock is to step, a jump leads from that function to stepCode behind its end,
// which adds an offset to the wall clock. Only the process itself sees its clock step,
// exactly as if the machine's had been set: monotonic time goes on.

// stepCode asks the kernel for the time and adds the eight bytes behind it to the seconds
// of clock 0, the wall clock.
var stepCode = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, 228 (clock_gettime)
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jnz to ret
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, [rip+6]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
	0, 0, // pad
}

// setClock sets the offset of a process's wall clock.
func setClock(pid int, offset time.Duration) error {
	start, size, err := vdso(pid)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	page := make([]byte, size)
	if _, err := mem.ReadAt(page, start); err != nil {
		return err
	}
	seconds := binary.LittleEndian.AppendUint64(nil, uint64(offset/time.Second))
	code := size - 64
	if !bytes.HasPrefix(page[code:], stepCode) {
		if len(bytes.Trim(page[code:], "\x00")) > 0 {
			return errors.New("the kernel's code page has no room")
		}
		if _, err := mem.WriteAt(stepCode, start+code); err != nil {
			return err
		}
		if err := jump(mem, page, start, code); err != nil {
			return err
		}
	}
	_, err = mem.WriteAt(seconds, start+code+int64(len(stepCode)))
	return err
}

// jump leads from the kernel's function to code. It writes eight aligned bytes, which a
// processor sees as a whole.
func jump(mem *os.File, page []byte, start, code int64) error {
	image, err := elf.NewFile(bytes.NewReader(page))
	if err != nil {
		return err
	}
	symbols, err := image.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" || s.Value%8 != 0 {
			continue
		}
		entry := page[s.Value : s.Value+8 : s.Value+8]
		entry[0] = 0xe9 // jmp
		binary.LittleEndian.PutUint32(entry[1:], uint32(code-int64(s.Value)-5))
		_, err := mem.WriteAt(entry, start+int64(s.Value))
		return err
	}
	return errors.New("the kernel maps no clock function")
}

// vdso returns the place of the kernel's code page in a process.
func vdso(pid int) (start, size int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		var end int64
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err == nil && strings.HasSuffix(line, "[vdso]\n") {
			return start, end - start, nil
		}
	}
	return 0, 0, errors.New("the kernel maps no code page")
}

func init() { trueTime = machineTime }

// machineTime returns the time of the machine's clock, to the microsecond above, also in a
// process whose clock has stepped.
func machineTime() int64 {
	var t syscall.Timeval
	syscall.Gettimeofday(&t) // fails only for a bad address
	return t.Nano() + 999
}

// The wall clock of the process steps. Its monotonic clock and this process's clocks do not.
func TestWallClockOfAnotherProcessSteps(t *testing.T) {
	file := t.TempDir() + "/stepped"
	t.Setenv("STEPPED", file)
	p, err := proc.Start(t.Context(), "clock", nil)
	require.NoError(t, err)
	defer p.Kill()
	before := time.Now()
	for _, offset := range []time.Duration{-time.Minute, 2 * time.Hour, time.Hour} {
		require.NoError(t, setClock(p.PID(), offset))
	}
	<-p.Ended()
	require.FileExists(t, file)
	after := time.Now()
	require.InDelta(t, after.Sub(before), after.Round(0).Sub(before.Round(0)), float64(time.Second))
	require.InDelta(t, trueTime(), now(), float64(time.Second))
}

func TestPostgresScenePassesStepsOfAClock(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 seconds")
	}
	c, err := postgresScene(t.Context(), t.TempDir(), false)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer c.close()
	r, err := c.play(t.Context(), 3*time.Second, []fault{c.stepClock})
	passes(t, r, err)
}

// stepClock sets the wall clock of a worker, and sets it again later.
func (c *cluster) stepClock(ctx context.Context) error {
	begin, pid := now(), c.scene.procs[2].PID()
	var offset time.Duration
	for n := range 10 { // a second after any time: a longer step ends the worker's lease
		if offset += time.Second; n%2 == 0 {
			offset = time.Duration(rand.Int64N(4*3600)-2*3600) * time.Second
		}
		if err := setClock(pid, offset); err != nil {
			return fmt.Errorf("steps of a worker's clock: %w", err)
		}
		proc.Sleep(ctx, 100*time.Millisecond+rand.N(500*time.Millisecond))
	}
	c.scene.note("ten steps of a worker's clock", begin, []int{pid})
	return nil
}
