package measure

import (
	"math/rand/v2"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/engines"
	"github.com/hashedwheel/hwt/bench/internal/spec"
)

// The delays of lone timeouts are between these.
const (
	loneLeast = 3 * time.Millisecond
	loneMost  = 20 * time.Millisecond
)

// lone schedules one timeout after another for the span: each when the one before has run.
func lone(s spec.Spec, _ engines.Kind, e engines.Engine) spec.Sample {
	random := rand.New(rand.NewPCG(7, 8))
	p, ran := newProbes(e, int(s.Span/loneLeast)+1), make(chan struct{}, 1)
	for end := time.Now().Add(s.Span); time.Now().Before(end); {
		delay := loneLeast + time.Duration(random.Int64N(int64(loneMost-loneLeast)))
		p.then(delay, func() { ran <- struct{}{} })
		<-ran
	}
	return p.sample(patience)
}
