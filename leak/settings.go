// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
)

// The variables of the environment, after Netty's system properties
// io.netty.leakDetection.*.
const (
	envLevel            = "HWT_LEAK_DETECTION_LEVEL"
	envTargetRecords    = "HWT_LEAK_DETECTION_TARGET_RECORDS"
	envSamplingInterval = "HWT_LEAK_DETECTION_SAMPLING_INTERVAL"
)

// Defaults and limits; the defaults are Netty's.
const (
	defaultTargetRecords    = 4
	defaultSamplingInterval = 128

	maxTargetRecords    = 1 << 10
	maxSamplingInterval = 1 << 30
)

// envSettings are the settings of the environment, or the defaults.
type envSettings struct {
	level            Level
	targetRecords    int // 1 to maxTargetRecords
	samplingInterval int // 1 to maxSamplingInterval

	invalid [][]any // log attributes, per invalid variable
}

// environment reads the settings on first use, so that main can set up the log
// before.
var environment = sync.OnceValue(func() envSettings { return readSettings(os.Getenv) })

func readSettings(getenv func(string) string) (s envSettings) {
	s.level = s.readLevel(getenv(envLevel))
	s.targetRecords = s.readInt(envTargetRecords, getenv, defaultTargetRecords, maxTargetRecords)
	s.samplingInterval = s.readInt(envSamplingInterval, getenv, defaultSamplingInterval, maxSamplingInterval)
	return s
}

func (s *envSettings) readLevel(value string) Level {
	if value == "" {
		return LevelSimple
	}
	l, err := parseLevel(value)
	if err != nil {
		s.unusable(envLevel, value, levelNames+", or 0 to 3", LevelSimple.String())
	}
	return l
}

func (s *envSettings) readInt(name string, getenv func(string) string, byDefault, limit int) int {
	value := getenv(name)
	if value == "" {
		return byDefault
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 1 || n > limit {
		s.unusable(name, value, "1 to "+strconv.Itoa(limit), strconv.Itoa(byDefault))
		return byDefault
	}
	return n
}

func (s *envSettings) unusable(name, value, allowed, byDefault string) {
	s.invalid = append(s.invalid, []any{"variable", name, "value", value, "allowed", allowed, "default", byDefault})
}

// warn logs the invalid variables. warn is called after environment has returned, because a
// log handler may track resources. warn discards a panic of the handler.
func (s *envSettings) warn(log *slog.Logger) {
	defer func() { _ = recover() }()
	for _, attrs := range s.invalid {
		log.Warn("leak: invalid environment variable, using the default", attrs...)
	}
}
