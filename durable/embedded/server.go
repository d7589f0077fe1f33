package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serverOptions returns the settings of the server.
func serverOptions(dir string, o Options) (*server.Options, error) {
	so := &server.Options{
		ServerName:         "hwt",
		StoreDir:           dir,
		JetStream:          true,
		JetStreamMaxStore:  o.MaxDisk,
		JetStreamMaxMemory: 64 << 20, // streams are on disk
		SyncInterval:       max(o.SyncInterval, leastSyncInterval),
		SyncAlways:         o.SyncAlways,
		DontListen:         o.Listen == "",
		NoSigs:             true,
		Authorization:      o.Token,
		MaxPending:         256 << 20,
	}
	if o.MaxDisk == 0 {
		so.JetStreamMaxStore = -1
	}
	if o.Listen != "" {
		host, port, err := splitAddress(o.Listen)
		if err != nil {
			return nil, refuse("Listen", fmt.Sprintf("%q", o.Listen), `an address such as "127.0.0.1:4222"`)
		}
		so.Host, so.Port = host, port
		if port == 0 {
			so.Port = server.RANDOM_PORT
		}
	}
	if c := o.Cluster; c != nil {
		host, port, err := splitAddress(c.Listen)
		if err != nil {
			return nil, err
		}
		so.ServerName = c.Node
		so.Cluster = server.ClusterOpts{Name: c.Name, Host: host, Port: port}
		var user *url.Userinfo
		if c.Secret != "" {
			so.Cluster.Username, so.Cluster.Password = "hwt", c.Secret
			user = url.UserPassword("hwt", c.Secret)
		}
		for _, peer := range c.Peers {
			so.Routes = append(so.Routes, &url.URL{Scheme: "nats", User: user, Host: peer})
		}
	}
	return so, nil
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("port %q (expected: 0 to 65535)", text)
	}
	return host, port, nil
}

// startServer starts a server and waits until it takes connections.
func startServer(ctx context.Context, so *server.Options, log *slog.Logger) (*server.Server, error) {
	srv, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("embedded: server: %w", err)
	}
	logger := &serverLog{log: log}
	srv.SetLoggerV2(logger, false, false, false)
	srv.Start()
	for !srv.ReadyForConnections(10 * time.Millisecond) {
		if err := ctx.Err(); err != nil || !srv.Running() {
			stopServer(srv)
			return nil, fmt.Errorf("embedded: server did not start: %w", errors.Join(context.Cause(ctx), logger.fatal()))
		}
	}
	if !srv.JetStreamEnabled() {
		stopServer(srv)
		return nil, fmt.Errorf("embedded: server started without its store: %w", errors.Join(errors.New("see the log"), logger.fatal()))
	}
	return srv, nil
}

// stopServer stops a server and waits until all of it has ended.
func stopServer(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

// trimNewline removes what the server's messages may end with.
func trimNewline(s string) string { return strings.TrimRight(s, "\r\n") }
