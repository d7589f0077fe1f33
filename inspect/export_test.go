package inspect

// Servers returns the number of servers that served a page.
func Servers() (n int) {
	servers.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
