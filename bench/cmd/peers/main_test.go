package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/bench/peers"
)

// TestMain lets the test binary be server and client of a sample, as the command
// is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "load") {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestEveryServer takes one tiny sample of each server in Go with each kind of
// work, so that none rots. A sample fails when a broadcast does not reach everyone.
func TestEveryServer(t *testing.T) {
	var chosen []peers.Peer
	for _, p := range peers.Peers() {
		if p.Script == "" {
			p.Free = true // no taskset here
			chosen = append(chosen, p)
		}
	}
	for _, w := range peers.Workloads() {
		w.Spec.N, w.Spec.Warm, w.Spec.Duration = 5, 20*time.Millisecond, 100*time.Millisecond
		w.Spec.Count = min(w.Spec.Count, 4)
		var log strings.Builder
		b := peers.Bench{Samples: 1, Keep: true, Log: &log}
		table, err := b.Run(t.Context(), w, chosen)
		if err != nil {
			t.Fatal(err)
		}
		if len(table.Failed) > 0 {
			t.Fatalf("%s: %s", w.Name, strings.Join(table.Failed, "\n"))
		}
		for _, p := range table.Peers {
			if table.Samples[p.Name][0] == nil {
				t.Errorf("%s %s: no sample", w.Name, p.Name)
			}
		}
	}
}
