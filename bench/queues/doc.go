// Package queues compares package durable with job queues that schedule: River on
// PostgreSQL and SQLite, and asynq on Redis. It has only tests:
//
//	go test -run Comparison -for 2s -rounds 5 -out ../../docs/queues.md -timeout 2h
//	go test -run Burst -skip 'Burst/River,_SQLite' -many 200000 -rounds 3 -out ../../docs/queues.md -timeout 2h
//	go test -run Snapshot -for 1m -rounds 1 -out ../../docs/queues.md -timeout 2h
package queues
