package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/bench/internal/run"
)

func TestBadArgumentsAreNamed(t *testing.T) {
	for message, args := range map[string][]string{
		`-only: no measurement "cancels"`:    {"-only", "cancels"},
		`-engines: no engine "wheel"`:        {"-engines", "wheel"},
		"flag -engines: empty":               {"-engines", ""},
		"-rounds: -1 (expected: at least 1)": {"-rounds", "-1"},
		`no measurement "nonsense"`:          {"table", "nonsense"},
		"no measurement is left":             {"-only", "burst", "-engines", "AfterFunc", "-quick"},
		`unknown command "nonsense"`:         {"nonsense"},
		`page: ["nonsense"]`:                 {"page", "nonsense"},
	} {
		assert.ErrorContains(t, command(t.Context(), args), message)
	}
}

func TestRunIsFullWithFiveRounds(t *testing.T) {
	for _, o := range []run.Options{{}, {Rounds: 5}, {Rounds: 12}} {
		assert.True(t, isFull(o), o)
	}
	for _, o := range []run.Options{{Rounds: 4}, {Quick: true}, {Only: []string{"heap"}}, {Engines: []string{"AfterFunc"}}} {
		assert.False(t, isFull(o), o)
	}
}
