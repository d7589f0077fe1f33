package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSoakOfEveryEngineFindsNoViolation(t *testing.T) {
	r := call(strings.Fields("soak -for 500ms -seed 3")...)
	require.Equal(t, 0, r.status, r.errOut)
	assert.Contains(t, r.out, "violations  0\n")
	assert.Regexp(t, `(?m)^ +hashed +hierarchical +runtime$`, r.out)
	assert.Regexp(t, `(?m)^accepted +[1-9]`, r.out)
}
