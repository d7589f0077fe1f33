package durable

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
)

// Defaults and limits of [Options].
const (
	DefaultName      = "timers"
	DefaultLead      = 10 * time.Second
	DefaultMaxLeased = 100_000

	// MaxShards is the largest number of shards a store can have.
	MaxShards = 256

	// MaxKeySize is the largest key, in bytes.
	MaxKeySize = 512

	// ClaimAhead is how long before its due time a worker claims a timer.
	ClaimAhead = 150 * time.Millisecond
)

// Options are the settings of a [Store]. The zero value of each field is its
// default. Name, Replicas, Shards, Lead and MaxBytes are stored with the store
// when it is created; an Open that gives another value later is refused, and
// one that gives none takes what is stored.
type Options struct {
	// Name of the store: 1 to 32 letters, digits, "-" and "_". "" is the default,
	// "timers". Stores of different names are independent of each other.
	Name string

	// Replicas is how many servers keep each timer: 1, 3 or 5. 0 is the default,
	// 1.
	Replicas int

	// Shards is over how many streams the timers are spread, 1 to MaxShards. 0 is
	// the default: 4 with one replica, else 16. One shard bears a million
	// timers well, and two at most. A server that starts reads one shard a processor
	// at a time.
	Shards int

	// Lead is how long before its due time a timer is handed to a worker, 1 s to
	// 10 min. 0 is the default, 10 s. A lead over 9 s hides the election of a
	// leader.
	Lead time.Duration

	// MaxBytes is how much disk the store's timers may take on each server. 0 is
	// the default: no limit but the account's and the server's. Set and Create
	// return ErrFull from 80 % of the limit on.
	MaxBytes int64

	// MaxLeased is how many timers of a shard may be in the hands of workers, 1
	// to 10,000,000. 0 is the default, 100,000. It bounds the rate of firing:
	// to MaxLeased times Shards a Lead.
	MaxLeased int

	// MustExist makes Open return ErrNoStore instead of creating the store.
	MustExist bool

	// Timeout is how long the store waits for the answer to one request before it
	// sends the request again, 100 ms to 1 min. 0 is the default, 2 s. A request
	// sent twice takes effect once.
	Timeout time.Duration

	// Logger receives warnings. nil is the default: slog.Default at the time of
	// Open.
	Logger *slog.Logger

	// Now is the clock. nil is the default, time.Now. It must be safe for
	// concurrent use.
	Now func() time.Time
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func refuse(field string, value any, expected string) error {
	return check.Invalid("durable", field, value, expected)
}

// complete returns a copy of o with the defaults that do not depend on what is
// stored filled in.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Name == "" {
		c.Name = DefaultName
	}
	if !validName.MatchString(c.Name) {
		return c, refuse("Name", fmt.Sprintf("%q", c.Name), `1 to 32 letters, digits, "-" and "_"`)
	}
	if r := c.Replicas; r != 0 && r != 1 && r != 3 && r != 5 {
		return c, refuse("Replicas", r, "0 for the default, or 1, 3 or 5")
	}
	if c.Shards < 0 || c.Shards > MaxShards {
		return c, refuse("Shards", c.Shards, fmt.Sprintf("0 for the default, or 1 to %d", MaxShards))
	}
	if c.Lead != 0 && (c.Lead < time.Second || c.Lead > 10*time.Minute) {
		return c, refuse("Lead", c.Lead, "0 for the default, or 1s to 10m")
	}
	if c.MaxBytes < 0 {
		return c, refuse("MaxBytes", c.MaxBytes, "0 for no limit, or 1 or more")
	}
	return c, c.completeLocal()
}

// completeLocal fills in what is not stored.
func (o *Options) completeLocal() (err error) {
	if o.MaxLeased, err = check.OrDefault("durable", "MaxLeased", o.MaxLeased, DefaultMaxLeased, 1, 10_000_000); err != nil {
		return err
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Timeout < 100*time.Millisecond || o.Timeout > time.Minute {
		return refuse("Timeout", o.Timeout, "0 for the default, or 100ms to 1m")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}
