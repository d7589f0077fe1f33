package role

import "net"

// FreeAddresses returns addresses on loopback that nothing listens on.
func FreeAddresses(n int) (out []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // when all are found, so that they differ
		out = append(out, l.Addr().String())
	}
	return out, nil
}
