package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// PagePath is the path of the page.
const PagePath = "/debug/hwt/"

// Listen opens an address such as 127.0.0.1:8080. Without a host, it listens on this
// machine only. Port 0 selects a free port.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

// ServePage serves handler under PagePath until stop is called. stop closes the listener. It
// writes the page's URL and errors to out.
func ServePage(listener net.Listener, handler http.Handler, out io.Writer) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle(PagePath, handler)
	mux.Handle("GET /{$}", http.RedirectHandler(PagePath, http.StatusFound))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(out, "--serve: %v\n", err)
		}
	}()
	fmt.Fprintf(out, "Watch it at http://%v%s\n", listener.Addr(), PagePath)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}
}
