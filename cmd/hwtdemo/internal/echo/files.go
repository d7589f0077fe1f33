package echo

// Files that a connection needs, since both its ends are in this process, and
// files that the process needs besides.
const (
	filesEach     = 2
	filesReserved = 64
)

// Fit returns how many of the wanted connections this process can have open, after
// it has raised its soft limit of open files, and that limit. The limit is 0 if
// there is none, or it is not known.
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
