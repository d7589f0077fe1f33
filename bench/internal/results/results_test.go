package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/bench/internal/spec"
)

func TestARunIsWholeOnceEachCellHasASample(t *testing.T) {
	r := &Results{Cells: []*Cell{{Samples: make([]spec.Sample, 2)}, {}}}
	assert.False(t, r.Whole())
	r.Cells[1].Samples = make([]spec.Sample, 1)
	assert.True(t, r.Whole())
}

func TestABrokenFileGivesNoResultsAtAll(t *testing.T) {
	for name, text := range map[string]string{
		"cut off": `{"commit": "x", "cells": [{"spec": {`, "of another kind": `{"commit": 1, "cells": [{}]}`, "empty": `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "benchmarks.json")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			r, err := Read(path)
			assert.ErrorContains(t, err, path)
			assert.Nil(t, r)
		})
	}
}
