package hwt_test

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
)

// The bodies of these functions are the README's snippets.

func Example_readme() {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop() // returns what did not run

	release := hwt.TaskFunc(func(hwt.Timeout) error {
		fmt.Println("order 17 was not paid: reservation released")
		return nil
	})
	check, err := timer.NewTimeout(release, 30*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	// The customer pays.
	fmt.Println("cancelled in time:", check.Cancel())
	// Output: cancelled in time: true
}

func Example_readmeCache() {
	prices, err := cache.New[string, int](10*time.Minute, cache.WithLimit(10_000))
	if err != nil {
		log.Fatal(err)
	}
	defer prices.Close()
	fetch := func() (int, error) { return 42, nil }
	price, err := prices.Take("tea", fetch) // from the cache, or fetched once for all who ask
	fmt.Println(price, err)
	// Output: 42 <nil>
}

// limit is what the README shows of deadlines.
func limit(timer hwt.Timer, answer http.Handler) http.Handler {
	c := clock.New(timer)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := c.WithTimeout(r.Context(), 2*time.Second) // was: context.WithTimeout
		defer cancel()
		answer.ServeHTTP(w, r.WithContext(ctx))
	})
}

func TestTheReadmesDeadlineReachesTheHandler(t *testing.T) {
	timer, err := hashedwheel.New()
	require.NoError(t, err)
	defer timer.Stop()
	var deadline time.Time
	handler := limit(timer, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		deadline, _ = r.Context().Deadline()
	}))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	assert.False(t, deadline.IsZero())
	assert.Zero(t, timer.Pending())
}

// serve is compiled only: it would serve for ever.
func serve(timer hwt.Timer, server *http.Server, listener net.Listener) {
	reaper, err := idle.NewReaper(timer, time.Minute) // on a wheel with a tick of a second
	if err != nil {
		log.Fatal(err)
	}
	defer reaper.Close()
	err = server.Serve(reaper.Listener(listener))
	log.Print(err)
}

var _ = serve

func TestEverySnippetOfTheReadmeIsCodeOfThisFile(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, snippets)
	for _, snippet := range snippets {
		indented := regexp.MustCompile("(?m)^(.)").ReplaceAllString(snippet[1], "\t$1")
		assert.True(t, strings.Contains(string(source), indented), "not compiled:\n%s", snippet[1])
	}
}
