// Tenants is a service with three kinds of work for two tenants: a mail and a webhook per order, and
// a report every ten seconds. Webhooks without a receiver become dead letters after three attempts.
//
//	go run ./tenants -orders 3 # works until Ctrl-C
//
// The command hwtdurable pauses a tenant, ends the pause, and replays the webhooks, while the service
// works or before it starts again:
//
//	hwtdurable pause --store /tmp/hwt-tenants.db --group acme --reason "asked by phone" --by ann
//	hwtdurable resume --store /tmp/hwt-tenants.db --group acme
//	hwtdurable dead --store /tmp/hwt-tenants.db
//	hwtdurable requeue --store /tmp/hwt-tenants.db --prefix webhook/ --per-second 5
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

var tenants = []string{"acme", "globex"}

func main() {
	file := flag.String("file", filepath.Join(os.TempDir(), "hwt-tenants.db"), "`file` of the store")
	hook := flag.String("hook", "http://localhost:9000/", "`URL` of the receiver of webhooks")
	orders := flag.Int("orders", 0, "orders of each tenant to take at the start")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	if *orders < 0 {
		log.Fatalf("-orders: %d (expected: at least 0)", *orders)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *file, *hook, *orders); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file, hook string, orders int) error {
	store, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, tenant := range tenants {
		_, _, err := store.Ensure(ctx, durable.Entry{Key: "report/" + tenant, Group: tenant, Every: durable.Every{Spec: "@every 10s"}})
		for i := 0; i < orders && err == nil; i++ {
			err = take(ctx, store.Entries, tenant, time.Now().Add(time.Duration(i)))
		}
		if err != nil {
			return err
		}
	}
	var kinds durable.Mux
	kinds.Handle("mail/", sendMail, &durable.WorkOptions{Concurrency: 8, Timeout: time.Minute})
	kinds.Handle("webhook/", poster(hook), &durable.WorkOptions{Timeout: 5 * time.Second, MaxAttempts: 3, BaseBackoff: 2 * time.Second})
	kinds.Handle("report/", report, &durable.WorkOptions{Concurrency: 1})
	log.Printf("working in %s until Ctrl-C", file)
	return store.WorkMux(ctx, &kinds)
}

// take stores the work of an order: a mail in a second, and a webhook in two.
func take(ctx context.Context, entries durable.Entries, tenant string, now time.Time) error {
	order := fmt.Sprintf("%s/%d", tenant, now.UnixNano())
	_, err := entries.Create(ctx, durable.Entry{Key: "mail/" + order, Group: tenant, Due: now.Add(time.Second), Payload: []byte("Thank you.")})
	if err == nil {
		_, err = entries.Create(ctx, durable.Entry{Key: "webhook/" + order, Group: tenant, Due: now.Add(2 * time.Second), Payload: []byte(`{"event":"ordered"}`)})
	}
	return err
}

func sendMail(_ context.Context, f durable.Firing) error {
	log.Printf("%s: mailed %q", f.Key, f.Payload)
	return nil
}

func report(_ context.Context, f durable.Firing) error {
	log.Printf("%s: made the report of %v", f.Key, f.Due.Format(time.TimeOnly))
	return nil
}

// poster returns the handler that posts payloads to a URL. The ID tells the receiver of repetitions.
func poster(url string) durable.Handler {
	return func(ctx context.Context, f durable.Firing) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(f.Payload))
		if err != nil {
			return durable.GiveUp(err)
		}
		request.Header.Set("Idempotency-Key", f.ID)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Printf("%s: attempt %d failed: %v", f.Key, f.Attempt, err)
			return err
		}
		defer response.Body.Close()
		if response.StatusCode >= 300 {
			err := fmt.Errorf("%s answered %s", url, response.Status)
			if response.StatusCode < 500 {
				return durable.GiveUp(err)
			}
			return err
		}
		log.Printf("%s: posted at attempt %d", f.Key, f.Attempt)
		return nil
	}
}
