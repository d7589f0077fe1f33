package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/structure"
)

// maxHotFiles and maxHotDurable bound the files that a reader of the way from Set to the stored outcome
// must open: of all packages without the wheel, of which package engine has its own test, and of package
// durable.
const maxHotFiles, maxHotDurable = 35, 12

// hotBody sets an entry that is due soon, while a Work runs, and waits until it is done. Only the code
// that runs in between is counted.
const hotBody = `
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hot")
	check(err)
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(ctx, dir+"/t.db", nil)
	check(err)
	fired := make(chan struct{})
	go s.Work(ctx, func(context.Context, durable.Firing) error { close(fired); return nil }, nil)
	clear()
	_, err = s.Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(300 * time.Millisecond), Payload: []byte("p")})
	check(err)
	<-fired
	time.Sleep(100 * time.Millisecond) // until the outcome is stored
`

// The real clock, because the program is another process.
func TestTheHotPathIsInFewFiles(t *testing.T) {
	hot := structure.HotFiles(t, maxHotFiles+16, `
		"context"
		"github.com/hashedwheel/hwt/durable"
		"github.com/hashedwheel/hwt/durable/sqlite"`, hotBody)
	all, ofDurable := 0, 0
	for _, file := range hot {
		if strings.HasPrefix(file, "durable/") || !strings.Contains(file, "/") {
			all++
		}
		if strings.HasPrefix(file, "durable/") && strings.Count(file, "/") == 1 {
			ofDurable++
		}
	}
	assert.LessOrEqual(t, all, maxHotFiles)
	assert.LessOrEqual(t, ofDurable, maxHotDurable)
	assert.Contains(t, hot, "durable/completer.go", "the counters work")
}
