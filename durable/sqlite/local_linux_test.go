package sqlite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNetworkFileSystemsAreRejected(t *testing.T) {
	assert.ErrorContains(t, refuseNetwork("/data", 0x6969), `directory "/data" is on NFS`)
	assert.NoError(t, refuseNetwork("/data", 0xef53), "ext4")
	assert.NoError(t, checkLocal(t.TempDir()))
}
