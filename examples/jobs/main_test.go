package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// run calls f in a bubble with a job that works for a time every ten seconds.
func run(t *testing.T, work time.Duration, f func(t *testing.T, c *clock.Clock, j *clock.Job)) {
	synctest.Test(t, func(t *testing.T) {
		timer, err := hashedwheel.New(nil)
		require.NoError(t, err)
		defer timer.Stop()
		c, err := clock.New(timer, nil)
		require.NoError(t, err)
		require.NoError(t, schedule(c, "cleanup", "@every 10s", work))
		f(t, c, c.Job("cleanup"))
	})
}

func TestStopWaitsForRunsInProgress(t *testing.T) {
	run(t, 2*time.Second, func(t *testing.T, c *clock.Clock, j *clock.Job) {
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, j.Status().Running)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		assert.NoError(t, c.StopJobs(ctx))
		assert.EqualValues(t, 1, j.Status().Runs)
		assert.NoError(t, j.Status().LastError)
	})
}

func TestStopEndsRunsThatOutlastTheGracePeriod(t *testing.T) {
	run(t, time.Hour, func(t *testing.T, c *clock.Clock, j *clock.Job) {
		time.Sleep(11 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, c.StopJobs(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))
		j.Wait()
		assert.Zero(t, j.Status().Running)
	})
}

func TestJobsAreListedAndRunOnRequest(t *testing.T) {
	run(t, time.Second, func(t *testing.T, c *clock.Clock, _ *clock.Job) {
		h := handler(c)
		do := func(method, path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			return w
		}
		assert.Equal(t, http.StatusOK, do("POST", "/jobs/cleanup").Code)
		assert.Equal(t, http.StatusConflict, do("POST", "/jobs/cleanup").Code, "it is running")
		assert.Equal(t, http.StatusNotFound, do("POST", "/jobs/other").Code)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Contains(t, do("GET", "/jobs").Body.String(), "cleanup: 1 runs, next ")
	})
}
