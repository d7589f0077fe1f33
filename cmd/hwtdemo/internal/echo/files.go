package echo

// Files that a connection takes, since both its ends are in this process; and
// those that the process needs besides.
const (
	filesEach     = 2
	filesReserved = 64
)

// Fit returns how many of the connections wanted this process can have open,
// after raising its soft limit of open files if it may, and what that limit is.
// It is 0 if there is none, or it is not known.
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
