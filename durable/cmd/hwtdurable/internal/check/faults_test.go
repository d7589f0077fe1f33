package check

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// passes runs a scene with one fault.
func passes(t *testing.T, s *scene, judge Judge, f fault) {
	t.Helper()
	r, err := s.play(t.Context(), 3*time.Second, judge, []fault{f})
	require.NoError(t, err)
	for _, v := range r.Violations {
		t.Errorf("%.2000s", v)
	}
	require.NotEmpty(t, r.Faults)
}

func TestSQLiteScenePassesEachFault(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, of := range map[string]func(s *scene) fault{
		"abandon": func(s *scene) fault { return s.abandon }, "crowd": func(s *scene) fault { return s.crowdKey },
		"log": func(s *scene) fault { return s.loseLog }, "lock": func(s *scene) fault { return s.holdLock },
		"driver":  func(s *scene) fault { return s.otherDriver },
		"deploy":  func(s *scene) fault { return func(ctx context.Context) error { return s.deploy(ctx, 2) } },
		"restart": func(s *scene) fault { return s.restart },
	} {
		t.Run(name, func(t *testing.T) {
			s := sqliteScene(t.TempDir())
			passes(t, s, sqliteJudge, of(s))
		})
	}
}

func TestPostgresScenePassesEachFault(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	for name, of := range map[string]func(c *cluster) fault{
		"abandon": func(c *cluster) fault { return c.scene.abandon }, "crowd": func(c *cluster) fault { return c.scene.crowdKey },
		"crash": func(c *cluster) fault { return c.killServer }, "read-only": func(c *cluster) fault { return c.readOnly },
		"rewind": func(c *cluster) fault { return c.rewind }, "hostile": func(c *cluster) fault { return c.hostile },
		"line": func(c *cluster) fault { return c.slowLine },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := postgresScene(t.Context(), t.TempDir())
			if errors.Is(err, pgtest.ErrNotInstalled) {
				t.Skip(err)
			}
			require.NoError(t, err)
			defer c.close()
			passes(t, c.scene, postgresJudge, of(c))
		})
	}
}
