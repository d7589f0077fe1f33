//go:build requirements

package integrations_test

// The packages that the overlays of the tests import, for go.mod.
import (
	_ "github.com/hashedwheel/hwt/hashedwheel"
	_ "go.etcd.io/etcd/server/v3/lease"
	_ "go.etcd.io/etcd/server/v3/storage/backend/testing"
	_ "k8s.io/client-go/util/workqueue"
	_ "k8s.io/utils/clock/testing"
)
