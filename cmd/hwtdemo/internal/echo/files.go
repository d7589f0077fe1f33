package echo

// Files per connection, both of whose ends are in this process, and for the process
// itself.
const (
	filesEach     = 2
	filesReserved = 64
)

// Fit raises the soft limit of open files. It returns the number of wanted connections
// that fit into it, and the limit, or 0 if it is unknown.
func Fit(wanted int) (connections int, limit uint64) {
	limit, known := openFiles()
	if !known {
		return wanted, 0
	}
	return fit(wanted, limit), limit
}

func fit(wanted int, limit uint64) int {
	room := (max(limit, filesReserved) - filesReserved) / filesEach
	return int(min(uint64(wanted), max(room, 1)))
}
