package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSilentDeviceIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const devices, silence, tick = 100_000, 30 * time.Second, 100 * time.Millisecond
		ticks, asked := make(chan time.Time), make([]int, devices)
		sends := func(id int) bool { // 0 to 9 heartbeats
			asked[id]++
			return asked[id] <= id%10
		}
		alerts := map[int]time.Duration{}
		start := time.Now()
		go func() {
			defer close(ticks)
			for range 10 {
				ticks <- time.Now()
				time.Sleep(silence / 3)
			}
			time.Sleep(silence)
		}()
		assert.NoError(t, watch(devices, silence, ticks, sends, func(id, beats int) {
			if _, again := alerts[id]; again || beats != id%10 {
				t.Errorf("device %d: an alert after %d beats, again: %v", id, beats, again)
			}
			alerts[id] = time.Since(start)
		}))
		assert.Len(t, alerts, devices*9/10)
		for id, at := range alerts {
			if late := at - time.Duration(id%10-1)*silence/3 - silence; late < 0 || late > tick+time.Millisecond {
				t.Fatalf("device %d: the alert is %v late", id, late)
			}
		}
	})
}
