package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// execute runs the program with these arguments.
func execute(args ...string) error {
	cmd := newCommand()
	cmd.SetArgs(args)
	return cmd.Execute()
}

func TestBadFlagsAreNamed(t *testing.T) {
	for message, args := range map[string][]string{
		`--only: no measurement "cancels"`:            {"--only", "cancels"},
		`--engines: no engine "wheel"`:                {"--engines", "wheel"},
		"--engines: empty":                            {"--engines", ""},
		"--rounds: 0 (expected: at least 1)":          {"--rounds", "0"},
		`no measurement "nonsense"`:                   {"table", "nonsense"},
		"no measurement is left":                      {"--only", "burst", "--engines", "AfterFunc", "--quick"},
		`unknown command "nonsense" for "bench"`:      {"nonsense"},
		`unknown command "nonsense" for "bench page"`: {"page", "nonsense"},
	} {
		assert.ErrorContains(t, execute(args...), message)
	}
}
