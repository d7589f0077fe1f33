// Devices watches devices that send heartbeats, and alerts when one is silent.
//
//	go run ./devices                                 # a thousand, for a quick try
//	go run ./devices -devices 100000 -silence 30s
package main

import (
	"flag"
	"log"
	"math/rand/v2"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

func main() {
	devices := flag.Int("devices", 1000, "number of devices; one in a thousand breaks at each heartbeat")
	silence := flag.Duration("silence", 3*time.Second, "time from the last heartbeat to the alert; devices send three in that time")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	if *devices < 1 {
		log.Fatalf("-devices: %d (expected: at least 1)", *devices)
	}
	if *silence < time.Millisecond {
		log.Fatalf("-silence: %v (expected: at least 1ms)", *silence)
	}
	broken := map[int]bool{}
	sends := func(id int) bool {
		broken[id] = broken[id] || rand.N(1000) == 0
		return !broken[id]
	}
	alert := func(id int, beats int) { log.Printf("device %d is silent after %d heartbeats", id, beats) }
	log.Printf("watching %d devices until Ctrl-C", *devices)
	log.Fatal(watch(*devices, *silence, time.Tick(*silence/3), sends, alert))
}

// watch lets devices send a heartbeat per tick. It calls alert with a device's number of
// heartbeats when its last one is silence ago.
func watch(devices int, silence time.Duration, ticks <-chan time.Time, sends func(id int) bool, alert func(id, beats int)) error {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		return err
	}
	defer timer.Stop()
	alive, err := keyed.New(timer, alert, nil)
	for beats := 1; err == nil; beats++ {
		if _, ok := <-ticks; !ok {
			return nil
		}
		for id := 0; id < devices && err == nil; id++ {
			if sends(id) {
				err = alive.Set(id, beats, silence)
			}
		}
	}
	return err
}
