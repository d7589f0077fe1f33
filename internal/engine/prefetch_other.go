//go:build !amd64 && !arm64

package engine

import "github.com/hashedwheel/hwt"

func prefetch(hwt.TimerTask) {}
