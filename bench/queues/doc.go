// Package queues compares package durable with job queues that schedule: River on
// PostgreSQL and SQLite, and asynq on Redis. It has only a test:
//
//	go test -run Comparison -for 2s -rounds 5 -many 2000 -out ../../docs/queues.md -timeout 2h
package queues
