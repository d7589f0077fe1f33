package report

// about says of an engine what its setting does not: why it has that, and where
// the tasks run.
type about struct{ why, tasks string }

const (
	onWorker   = "on the worker, one by one"
	goroutines = "a goroutine each"
	likeOurs   = "as hashedwheel, for the same lateness; "
)

// abouts holds one for each engine, by its name.
var abouts = map[string]about{
	"hashedwheel":  {"1 ms so that its lateness is that of the others; the default is 100 ms and 512 ticks", onWorker},
	"hierarchical": {"the default", onWorker},
	"runtimetimer": {"none to choose", goroutines},
	"AfterFunc":    {"none to choose", goroutines},
	"RussellLuo":   {"its README has 1 ms and 20 buckets; 8192 is our choice, in its favour: fewer levels, less cost", goroutines},
	"antlabs":      {"none to choose", goroutines},
	"rfyiamcool":   {likeOurs + "its README has 1 s and 360 buckets", goroutines},
	"ouqiang":      {"that of its README", goroutines},
	"go-zero":      {likeOurs + "its own cache has 1 s and 300 slots", "a goroutine for all of a tick"},
	"Netty":        {likeOurs + "the default is 100 ms and 512 ticks", onWorker},
}
