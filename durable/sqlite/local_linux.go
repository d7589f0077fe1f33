package sqlite

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/hashedwheel/hwt/durable/backend"
)

// networkTypes are the types of network file systems, as statfs returns them.
var networkTypes = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x01021997: "9P",
	0x5346414f: "AFS",
	0x6b414653: "kAFS",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x7461636f: "OCFS2",
	0x01161970: "GFS2",
	0x0000564c: "NCP",
	0x73757245: "Coda",
	0x20030528: "OrangeFS",
	0x19830326: "BeeGFS",
	0xaad7aaea: "PanFS",
	0xbeefdead: "SNFS",
	0x65735546: "FUSE (sshfs, rclone, s3fs, GlusterFS, virtiofs, Docker Desktop, and others)",
	0x786f4256: "a shared folder of VirtualBox",
	0xbacbacbc: "a shared folder of VMware",
	0x7c7c6673: "a shared folder of Parallels",
}

// checkLocal returns an error if a directory is on a network file system.
func checkLocal(directory string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(directory, &fs); err != nil {
		return fmt.Errorf("directory %q: %w", directory, err)
	}
	return refuseNetwork(directory, uint32(fs.Type))
}

func refuseNetwork(directory string, kind uint32) error {
	if name := networkTypes[kind]; name != "" {
		return fmt.Errorf("directory %q is on %s, which may break SQLite's locks: use a local disk, durable/postgres, or Options.AnyFileSystem if it is safe", directory, name)
	}
	return nil
}

// mountPoints decodes the names of /proc/self/mountinfo.
var mountPoints = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// checkMount rejects a file that is a mount point, as with docker run -v timers.db:/data/timers.db. Its log
// would be beside the mount point, on another file system: the log would be lost with a container, and two
// containers would have two logs.
func checkMount(path string) error {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // without /proc, there is no way to tell
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && mountPoints.Replace(fields[4]) == path {
			return fmt.Errorf("%w: %q is a mount point, and SQLite keeps the log beside it: mount the directory", backend.ErrInvalid, path)
		}
	}
	return nil
}
