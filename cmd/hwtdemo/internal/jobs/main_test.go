package jobs_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if as := os.Getenv(actAs); as != "" {
		os.Exit(act(as))
	}
	goleak.VerifyTestMain(m)
}
