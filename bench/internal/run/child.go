package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/measure"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// Child runs in a child process. It reads a spec from JSON, measures, and writes the sample
// to w.
func Child(text string, w io.Writer) error {
	var s spec.Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	sample, err := measure.Run(s)
	if err != nil {
		return err
	}
	for name, value := range sample.Metrics {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			delete(sample.Metrics, name)
		}
	}
	return json.NewEncoder(w).Encode(sample)
}

// inChild runs a command line that measures, and returns its sample. A crash, or a run longer
// than the limit, is a failure of the sample. The error is that of ctx.
func inChild(ctx context.Context, command, environment []string, limit time.Duration) (spec.Sample, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, stderr bytes.Buffer
	child := exec.CommandContext(limited, command[0], command[1:]...)
	child.Env = append(os.Environ(), environment...)
	child.Stdout, child.Stderr = &out, &stderr
	child.WaitDelay = time.Second
	err := child.Run()
	switch {
	case ctx.Err() != nil:
		return spec.Sample{}, ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return spec.Sample{Failure: fmt.Sprintf("not finished after %v", limit.Round(time.Second))}, nil
	case err != nil:
		return spec.Sample{Failure: "crashed: " + reason(stderr.String(), err)}, nil
	}
	return parse(out.Bytes()), nil
}

// reason returns the line of the standard error that explains a crash best.
func reason(stderr string, err error) string {
	first := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	if first == "" {
		return err.Error()
	}
	return first
}

// parse reads a sample from the last line of a child's output. Rivals may write more.
func parse(out []byte) spec.Sample {
	out = bytes.TrimSpace(out)
	if i := bytes.LastIndexByte(out, '\n'); i >= 0 {
		out = out[i+1:]
	}
	var sample spec.Sample
	if err := json.Unmarshal(out, &sample); err != nil {
		return spec.Sample{Failure: "wrote no result: " + err.Error()}
	}
	return sample
}
