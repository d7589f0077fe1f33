package hwtprom_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/metrics/hwtprom"
)

var exported = regexp.MustCompile(`hwt_[a-z_]+`)

// exports returns the names that a scrape has.
func exports(t *testing.T) map[string]bool {
	registry := prometheus.NewRegistry()
	for _, source := range all(t, newTimer(t)) {
		registry.MustRegister(hwtprom.New("test", source))
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, f := range families {
		names[f.GetName()] = true
	}
	return names
}

func TestDashboardAndAlertsNameExistingMetrics(t *testing.T) {
	names := exports(t)
	for _, file := range []string{"dashboard.json", "alerts.yml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range exported.FindAllString(string(text), -1) {
			base := strings.TrimSuffix(name, "_bucket")
			assert.True(t, names[base] || name == "hwt_", "%s: %s", file, name)
		}
	}
}

// promtool runs the tool with args and returns its output.
func promtool(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed (Debian package prometheus)")
	}
	out, err := exec.Command("promtool", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestPromtoolAcceptsTheAlerts(t *testing.T) {
	promtool(t, "check", "rules", "alerts.yml")
}

func TestAlertsFire(t *testing.T) {
	promtool(t, "test", "rules", "testdata/alerts_test.yml")
}

// TestPromtoolAcceptsTheDashboard has promtool check each query of the dashboard as
// the expression of a rule.
func TestPromtoolAcceptsTheDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	fill := strings.NewReplacer("$__rate_interval", "1m", "$name", ".*")
	n := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			fmt.Fprintf(&rules, "  - record: query%d\n    expr: %q\n", n, fill.Replace(target.Expr))
			n++
		}
	}
	require.NotZero(t, n)
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	promtool(t, "check", "rules", file)
}
