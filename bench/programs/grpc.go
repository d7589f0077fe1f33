package main

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

var grpcCalls = program{
	name: "grpc", title: "gRPC calls with deadlines",
	text: `64 goroutines call the health check of a server in the same process 50,000 times over
one connection. Each call gets a deadline of 30 seconds. The CPU time includes the
server and the kernel.`,
	remark: `There is nothing to gain here either. The server creates a context of package context
for each call anyway.`,
	sides: deadlineSides(runCalls),
}

func runCalls(scale int, with withTimeout) sample {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(l)
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	client := grpc_health_v1.NewHealthClient(conn)
	return measureRequests(max(1, 50_000/scale/clients), func() {
		ctx, cancel := with(context.Background(), 30*time.Second)
		defer cancel()
		_, err := client.Check(ctx, new(grpc_health_v1.HealthCheckRequest))
		must(err)
	})
}
