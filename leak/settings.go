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

// envSettings are the settings of the environment, or their defaults.
type envSettings struct {
	level            Level
	targetRecords    int // 1 to maxTargetRecords
	samplingInterval int // 1 to maxSamplingInterval
}

// environment reads the settings on first use, so that main can set up the log
// before.
var environment = sync.OnceValue(func() envSettings {
	return readSettings(os.Getenv, slog.Default())
})

func readSettings(getenv func(string) string, log *slog.Logger) envSettings {
	return envSettings{
		level:            readLevel(getenv(envLevel), log),
		targetRecords:    readInt(envTargetRecords, getenv, defaultTargetRecords, maxTargetRecords, log),
		samplingInterval: readInt(envSamplingInterval, getenv, defaultSamplingInterval, maxSamplingInterval, log),
	}
}

func readLevel(value string, log *slog.Logger) Level {
	if value == "" {
		return LevelSimple
	}
	l, err := ParseLevel(value)
	if err != nil {
		unusable(log, envLevel, value, levelNames+", or 0 to 3", LevelSimple.String())
	}
	return l
}

func readInt(name string, getenv func(string) string, byDefault, limit int, log *slog.Logger) int {
	value := getenv(name)
	if value == "" {
		return byDefault
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 1 || n > limit {
		unusable(log, name, value, "1 to "+strconv.Itoa(limit), strconv.Itoa(byDefault))
		return byDefault
	}
	return n
}

func unusable(log *slog.Logger, name, value, allowed, byDefault string) {
	log.Warn("leak: invalid environment variable, using the default",
		"variable", name, "value", value, "allowed", allowed, "default", byDefault)
}
