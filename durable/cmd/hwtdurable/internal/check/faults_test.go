package check

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// passes checks the report of a scene with one fault.
func passes(t *testing.T, r Report, err error) {
	t.Helper()
	require.NoError(t, err)
	for _, v := range r.Violations {
		t.Errorf("%.2000s", v)
	}
	require.NotEmpty(t, r.Faults)
	t.Log(r.Faults, r.Firings, r.Repeats)
}

// withKinds are the faults in scenes with kinds.
var withKinds = map[string]bool{"pause": true, "poison": true, "kill": true, "limit": true, "fair": true, "serial": true}

func TestSQLiteScenePassesEachFault(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, of := range map[string]func(s *scene) fault{
		"limit": func(s *scene) fault { return s.limit }, "fair": func(s *scene) fault { return s.fair }, "serial": func(s *scene) fault { return s.serial },
		"abandon": func(s *scene) fault { return s.abandon },
		"log":     func(s *scene) fault { return s.loseLog }, "lock": func(s *scene) fault { return s.holdLock },
		"library": func(s *scene) fault { return s.otherLibrary },
		"deploy":  func(s *scene) fault { return func(ctx context.Context) error { return s.deploy(ctx, 2) } },
		"restart": func(s *scene) fault { return s.restart },
		"pause":   func(s *scene) fault { return s.pause }, "poison": func(s *scene) fault { return s.poison },
		"kill": func(s *scene) fault { return func(ctx context.Context) error { return s.kill(ctx, 2) } },
	} {
		t.Run(name, func(t *testing.T) {
			s := sqliteScene(t.TempDir(), withKinds[name])
			r, err := s.play(t.Context(), 3*time.Second, sqliteJudge, []fault{of(s)})
			passes(t, r, err)
		})
	}
}

func TestPostgresScenePassesEachFault(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	for name, of := range map[string]func(c *cluster) fault{
		"limit": func(c *cluster) fault { return c.scene.limit }, "fair": func(c *cluster) fault { return c.scene.fair }, "serial": func(c *cluster) fault { return c.scene.serial },
		"abandon": func(c *cluster) fault { return c.scene.abandon }, "cross": func(c *cluster) fault { return c.crossKey },
		"crash": func(c *cluster) fault { return c.killServer }, "read-only": func(c *cluster) fault { return c.readOnly },
		"rewind": func(c *cluster) fault { return c.rewind }, "hostile": func(c *cluster) fault { return c.hostile },
		"line":  func(c *cluster) fault { return c.slowLine },
		"pause": func(c *cluster) fault { return c.scene.pause }, "poison": func(c *cluster) fault { return c.scene.poison },
		"kill": func(c *cluster) fault { return func(ctx context.Context) error { return c.scene.kill(ctx, 2) } },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := postgresScene(t.Context(), t.TempDir(), withKinds[name])
			if errors.Is(err, pgtest.ErrNotInstalled) {
				t.Skip(err)
			}
			require.NoError(t, err)
			defer c.close()
			r, err := c.play(t.Context(), 3*time.Second, []fault{of(c)})
			passes(t, r, err)
		})
	}
}
