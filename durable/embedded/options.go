package embedded

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/internal/check"
)

// DefaultSyncInterval is how often the server has the operating system write to
// the disk.
const DefaultSyncInterval = 100 * time.Millisecond

// Options are the settings of [Open]. The zero value of each field is its
// default.
type Options struct {
	// Store are the settings of the store. In a cluster, Store.Replicas is 3 by
	// default.
	Store durable.Options

	// Listen is an address such as "127.0.0.1:4222" at which other processes reach
	// the server. With port 0, the system chooses one; see Store.URL. "" is the
	// default: no port is opened, except by a node of a cluster, which does not
	// start without one: it opens one on loopback, with a secret token. Anyone who
	// reaches the address can read and write all timers, unless Token is set.
	Listen string

	// Token is what clients must present at Listen, as nats.Token does. "" is the
	// default: none.
	Token string

	// SyncInterval is how often the disk is synced, 10 ms to 1 h. 0 is the
	// default, 100 ms. In programs built with the race detector it is at least
	// 10 s: the detector would report the server's own timer otherwise.
	SyncInterval time.Duration

	// SyncAlways syncs the disk before each write is confirmed, which makes writes
	// hundreds of times slower on most disks.
	SyncAlways bool

	// MaxDisk is how many bytes the server may use in the directory. 0 is the
	// default: three quarters of what is free on the disk.
	MaxDisk int64

	// MustExist makes Open return an error instead of making a directory into a
	// store.
	MustExist bool

	// Cluster makes the server a node of a cluster. nil is the default: it is
	// standalone.
	Cluster *Cluster

	// Logger receives the server's warnings and errors. nil is the default:
	// slog.Default at the time of Open.
	Logger *slog.Logger
}

// Cluster describes a node of a cluster.
type Cluster struct {
	// Name of the cluster and of this node in it: 1 to 32 letters, digits, "-" and
	// "_". Both are required.
	Name, Node string

	// Listen is the address for other nodes, such as "10.0.0.1:6222". Required.
	Listen string

	// Secret is what the nodes present to each other. "" is the default: anyone who
	// reaches Listen can read and write all timers.
	Secret string

	// Peers are the Listen addresses of the other nodes. Required. A node that
	// reaches one of them finds the others.
	Peers []string
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func refuse(field string, value any, expected string) error {
	return check.Invalid("embedded", field, value, expected)
}

func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.SyncInterval == 0 {
		c.SyncInterval = DefaultSyncInterval
	}
	if c.SyncInterval < 10*time.Millisecond || c.SyncInterval > time.Hour {
		return c, refuse("SyncInterval", c.SyncInterval, "0 for the default, or 10ms to 1h")
	}
	if c.MaxDisk < 0 {
		return c, refuse("MaxDisk", c.MaxDisk, "0 for the default, or 1 or more")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Store.Logger == nil {
		c.Store.Logger = c.Logger
	}
	if c.Cluster != nil {
		if err := c.Cluster.check(); err != nil {
			return c, err
		}
		if c.Listen == "" {
			c.Listen = "127.0.0.1:0"
			c.Token = cmp.Or(c.Token, rand.Text())
		}
	}
	return c, nil
}

func (c *Cluster) check() error {
	for field, value := range map[string]string{"Cluster.Name": c.Name, "Cluster.Node": c.Node} {
		if !validName.MatchString(value) {
			return refuse(field, fmt.Sprintf("%q", value), `1 to 32 letters, digits, "-" and "_"`)
		}
	}
	if _, _, err := splitAddress(c.Listen); err != nil {
		return refuse("Cluster.Listen", fmt.Sprintf("%q", c.Listen), "an address such as 10.0.0.1:6222")
	}
	if len(c.Peers) == 0 {
		return refuse("Cluster.Peers", c.Peers, "the addresses of other nodes")
	}
	return nil
}
