package durable_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

const strayText = "no Work of this store handles their"

func TestStraysAreLoggedOncePerMinute(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("mail/", f.noted("", nil), nil)
		defer f.workMux(&m)()
		f.setIn("mial/1", time.Second)
		f.setIn("mial/2", time.Second)
		f.setIn("plain", 2*time.Second)
		f.setIn("mail/1", time.Second)
		f.setIn("later/1", time.Hour)
		time.Sleep(time.Minute)
		assert.NotContains(t, f.log.String(), strayText, "entries that are due for less than a minute")
		time.Sleep(time.Minute + time.Second)
		assert.Equal(t, 2, strings.Count(f.log.String(), strayText))
		assert.Contains(t, f.log.String(), "kind=mial key=mial/1 overdue=1m59s")
		assert.Contains(t, f.log.String(), `kind="" key=plain`)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, 22, strings.Count(f.log.String(), strayText))
		assert.NotContains(t, f.log.String(), "later/1")
		assert.Equal(t, []string{" mail/1"}, f.firedKeys())
	})
}

// slowLook is a DB with looks for strays that take 1 to 5 ms.
type slowLook struct {
	*faulty
	looks atomic.Int64
}

func (l *slowLook) Overdue(ctx context.Context, before int64) ([]backend.Row, error) {
	time.Sleep(time.Duration(1+l.looks.Add(1)*7%5) * time.Millisecond)
	return l.DB.Overdue(ctx, before)
}

// Several Works look together.
func TestStoreLooksForStraysOncePerMinute(t *testing.T) {
	inBubble(t, func(f *fixture) {
		slow := &slowLook{faulty: f.b}
		s, err := durable.New(t.Context(), slow, &durable.Options{Logger: f.log.logger()})
		require.NoError(t, err)
		f.Store = s
		for range 3 {
			var m durable.Mux
			m.Handle("mail/", f.noted("", nil), nil)
			defer f.workMux(&m)()
			time.Sleep(5 * time.Second)
		}
		f.setIn("mial/1", -16*time.Second)
		time.Sleep(19*time.Minute + 30*time.Second)
		assert.Equal(t, 19, strings.Count(f.log.String(), strayText))
		assert.EqualValues(t, 19, slow.looks.Load())
	})
}

func TestStraysLeaveOutHandledEntries(t *testing.T) {
	for name, work := range map[string]func(f *fixture) (end func()){
		"all kinds": func(f *fixture) func() { return f.work(nil, &durable.WorkOptions{Schedules: schedules("known")}) },
		"the rest": func(f *fixture) func() {
			var m durable.Mux
			m.Handle("mail/", f.noted("", nil), nil)
			m.Handle("/", f.noted("", nil), &durable.WorkOptions{Schedules: schedules("known")})
			return f.workMux(&m)
		},
		"two works": func(f *fixture) func() {
			var mail, sms durable.Mux
			mail.Handle("mail/", f.noted("", nil), nil)
			sms.Handle("sms/", f.noted("", nil), &durable.WorkOptions{Schedules: schedules("known")})
			endMail, endSMS := f.workMux(&mail), f.workMux(&sms)
			return func() { endMail(); endSMS() }
		},
		"beside all kinds": func(f *fixture) func() {
			var mail durable.Mux
			mail.Handle("mail/", f.noted("", nil), nil)
			end, endMail := f.work(hang, &durable.WorkOptions{Concurrency: 1, MaxHeld: 1, DrainTimeout: -1}), f.workMux(&mail)
			return func() { endMail(); end() }
		},
		"paused": func(f *fixture) func() {
			var m durable.Mux
			m.Handle("mail/", f.noted("", nil), nil)
			require.NoError(f.t, f.Pause(f.t.Context(), durable.Pause{Scope: durable.Scope{Prefix: "sms/"}}))
			return f.workMux(&m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				defer work(f)()
				for i := range 3 {
					f.setIn(fmt.Sprint("mail/", i), time.Second)
					f.setIn(fmt.Sprint("sms/", i), time.Second)
				}
				time.Sleep(10 * time.Minute)
				assert.NotContains(t, f.log.String(), strayText)
			})
		})
	}
}

// schedules returns a schedule under a name.
func schedules(name string) map[string]clock.Schedule {
	spec, _ := clock.ParseSpec("@every 1h")
	return map[string]clock.Schedule{name: spec}
}

func TestUnknownSchedulesAreStrays(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, &durable.WorkOptions{Schedules: schedules("known")})()
		for _, name := range []string{"known", "unknown"} {
			_, err := f.Set(f.t.Context(), durable.Entry{Key: name, Due: time.Now(), Every: durable.Every{Schedule: name}})
			require.NoError(t, err)
		}
		time.Sleep(2*time.Minute + time.Second)
		assert.Equal(t, 1, strings.Count(f.log.String(), strayText))
		assert.Contains(t, f.log.String(), "schedule=unknown key=unknown")
	})
}

// A key has up to 512 bytes, and each may begin a kind of its own.
func TestOneLookReportsTenKinds(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("mail/", f.noted("", nil), nil)
		defer f.workMux(&m)()
		for i := range 30 {
			f.setIn(fmt.Sprintf("%02d/x", i), 0)
		}
		time.Sleep(2*time.Minute + time.Second)
		assert.Equal(t, 10, strings.Count(f.log.String(), strayText))
	})
}

// Each of two Works handles the kind or knows the schedule. No handler can fire the entry.
func TestStrayHasAKindAndAScheduleOfTwoWorks(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var mail, sms durable.Mux
		mail.Handle("mail/", f.noted("", nil), nil)
		sms.Handle("sms/", f.noted("", nil), &durable.WorkOptions{Schedules: schedules("known")})
		defer f.workMux(&mail)()
		defer f.workMux(&sms)()
		for i := range 3 {
			_, err := f.Set(f.t.Context(), durable.Entry{Key: fmt.Sprint("mail/", i), Due: time.Now(), Every: durable.Every{Schedule: "known"}})
			require.NoError(t, err)
		}
		time.Sleep(2*time.Minute + time.Second)
		assert.Empty(t, f.firedKeys())
		assert.Equal(t, 1, strings.Count(f.log.String(), strayText))
		assert.Contains(t, f.log.String(), "their kind and schedule")
		assert.Contains(t, f.log.String(), "kind=mail schedule=known key=mail/0")
	})
}
