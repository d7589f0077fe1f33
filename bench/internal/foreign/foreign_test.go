package foreign

import (
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestEveryForeignEngineHasAHarness(t *testing.T) {
	for _, k := range engines.All() {
		if k.Foreign {
			assert.NotNil(t, builders[k.Name], k.Name)
		}
	}
}

func TestHarnessesAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the harnesses")
	}
	for name := range builders {
		t.Run(name, func(t *testing.T) {
			h, err := New(name)
			if err != nil {
				t.Skip(err)
			}
			defer h.Close()
			assert.NotEmpty(t, h.Version)
			const span = 50 * time.Millisecond
			for _, s := range []spec.Spec{
				{Measure: spec.Cancel, Producers: 1, N: 1000},
				{Measure: spec.Heap, Pending: 1000},
				{Measure: spec.Expire, N: 100, Span: time.Second},
				{Measure: spec.Burst, N: 100, Span: time.Second},
				{Measure: spec.Sustained, Producers: 2, Rate: 1000, Delay: span, Span: span},
			} {
				command := h.Command(s)
				out, err := exec.Command(command[0], command[1:]...).Output()
				require.NoError(t, err, s)
				var sample spec.Sample
				require.NoError(t, json.Unmarshal(out, &sample), string(out))
				assert.Empty(t, sample.Failure, s)
				assert.Positive(t, max(sample.Metrics[spec.CPUNs], sample.Metrics[spec.HeapBytes]), s)
				if s.Measure == spec.Expire || s.Measure == spec.Burst {
					assert.Positive(t, sample.Metrics[spec.DoneMs], s)
				}
			}
		})
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	_, err := need("some-package", "/", "no-such-program")
	assert.EqualError(t, err, "there is no no-such-program here (Debian: some-package)")
	_, err = need("some-package", "/no/such/*.jar", "ls")
	assert.EqualError(t, err, "there is no /no/such/*.jar (Debian: some-package)")
}
