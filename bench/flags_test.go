package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parsed returns the flags of a command line once they were checked.
func parsed(args ...string) (*flags, error) {
	f, set := new(flags), pflag.NewFlagSet("bench", pflag.ContinueOnError)
	f.define(set)
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	return f, f.check(set)
}

// execute runs the program with these flags.
func execute(args ...string) error {
	cmd := newCommand()
	cmd.SetArgs(args)
	return cmd.Execute()
}

func TestOnlyTheFullRunWritesToTheDocsByItself(t *testing.T) {
	for _, args := range [][]string{nil, {"--rounds", "3"}} {
		f, err := parsed(args...)
		require.NoError(t, err)
		assert.Equal(t, "../docs", f.out)
	}
	for _, args := range [][]string{{"--quick"}, {"--only", "cancel"}, {"--engines", "AfterFunc"}, {"--rows", "by 2"}} {
		f, err := parsed(args...)
		require.NoError(t, err)
		assert.Empty(t, f.out, "only tables are printed")
		f, err = parsed(append(args, "--out", "there")...)
		require.NoError(t, err)
		assert.Equal(t, "there", f.out)
	}
}

func TestWhatIsRenderedAnewStaysWhereItIs(t *testing.T) {
	f, err := parsed("--render", "some/benchmarks.jsonl")
	require.NoError(t, err)
	assert.Equal(t, "some", f.out)
}

func TestErrorsNameTheFlag(t *testing.T) {
	for _, args := range [][]string{
		{"--only", "cancels", "--out", "x"}, {"--only", "", "--out", "x"},
		{"--engines", "unknown", "--out", "x"}, {"--engines", "", "--out", "x"},
		{"--rounds", "0"}, {"--rounds", "-1"}, {"--wait", "-1s"}, {"--out", ""},
	} {
		_, err := parsed(args...)
		assert.ErrorContains(t, err, args[0], args)
	}
}

func TestRoundsAreFiveAndOfAQuickRunOne(t *testing.T) {
	for want, args := range map[int][]string{5: nil, 1: {"--quick", "--out", "x"}, 3: {"--quick", "--out", "x", "--rounds", "3"}} {
		f, err := parsed(args...)
		require.NoError(t, err)
		assert.Equal(t, want, f.Rounds, args)
	}
}

func TestOnlyTheFullRunWaitsAndRepeatsRounds(t *testing.T) {
	for _, args := range [][]string{nil, {"--rounds", "3"}, {"--out", "x"}} {
		f, err := parsed(args...)
		require.NoError(t, err)
		assert.Equal(t, 30*time.Minute, f.Wait)
		assert.True(t, f.Steady)
	}
	f, err := parsed("--only", "cancel")
	require.NoError(t, err)
	assert.Zero(t, f.Wait)
	assert.False(t, f.Steady)
	f, err = parsed("--only", "cancel", "--wait", "1m")
	require.NoError(t, err)
	assert.Equal(t, time.Minute, f.Wait)
}

func TestRenderTakesNoFlagsOfARun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.jsonl")
	for _, flag := range []string{"--quick", "--only=cancel", "--engines=AfterFunc", "--rounds=2", "--wait=1m"} {
		assert.ErrorContains(t, execute("--render", file, flag), "none of the others can be", flag)
	}
}

func TestTheRecordedCommandNamesNoFolder(t *testing.T) {
	const plain = "go -C bench run ."
	for want, args := range map[string][]string{
		plain:                            nil,
		plain + " --quick --only cancel": {"--quick", "--out", "/home/me", "--only", "cancel"},
		plain + " --rounds 3":            {"--out=/home/me", "--rounds", "3"},
	} {
		assert.Equal(t, want, recorded(args))
	}
}

func TestABrokenFileIsNotWrittenOver(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "benchmarks.jsonl")
	const broken = `{"commit": 1, "cells": [{}]}`
	require.NoError(t, os.WriteFile(file, []byte(broken), 0o600))
	require.Error(t, execute("--render", file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, broken, string(text))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, names, 1)
}

func TestAFolderThatCannotBeWrittenIsFoundOutFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, execute("--quick", "--out", filepath.Join(file, "below")), "--out")
}

func TestTryingAFolderLeavesNothingThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	require.NoError(t, writable(dir))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, names)
}

func TestASelectionOfNothingIsRefused(t *testing.T) {
	dir := t.TempDir()
	err := execute("--only", "goroutines", "--engines", "antlabs", "--out", dir) // only ours and package time have it
	assert.ErrorContains(t, err, "nothing to measure")
	assert.NoFileExists(t, filepath.Join(dir, "benchmarks.jsonl"))
}
