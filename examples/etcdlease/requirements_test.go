//go:build requirements

package etcdlease_test

// The packages that testdata imports, for go.mod.
import (
	_ "github.com/hashedwheel/hwt/hashedwheel"
	_ "go.etcd.io/etcd/server/v3/lease"
	_ "go.etcd.io/etcd/server/v3/storage/backend/testing"
)
