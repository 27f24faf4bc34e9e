// Package logtest is the suite that every topiclog.Log passes.
package logtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ignex/nova/topiclog"
)

// Open makes an empty log that keeps about maxFrames of a topic: never more than
// twice as many. With at most that many in all none may be dropped.
type Open func(t *testing.T, maxFrames int) topiclog.Log

// Backend is a log to test and what it can do. Tests of what it does not declare
// are not run.
type Backend struct {
	Open Open
	// Reopen closes the log and opens again what it kept. nil: it keeps nothing.
	Reopen func(t *testing.T, log topiclog.Log) topiclog.Log
	// Batches: the log is a topiclog.Batcher.
	Batches bool
	// Syncs: the log is a topiclog.Syncer.
	Syncs bool
}

// Run tests a backend.
func Run(t *testing.T, b Backend) {
	run := func(name string, maxFrames int, test func(*testing.T, topiclog.Log)) {
		t.Run(name, func(t *testing.T) { test(t, b.Open(t, maxFrames)) })
	}
	run("empty topic", 100, empty)
	run("append and range", 100, appendAndRange)
	run("any bytes", 100, anyBytes)
	run("retry", 100, retry)
	run("bounded", 10, bounded)
	run("evicted under a reader", 200, evicted)
	run("tail", 2000, tail)
	run("tails end", 100, tailsEnd)
	run("together", 5000, together)
	run("close", 10, closed)
	if b.Batches {
		run("batches", 1000, batches)
	}
	if b.Syncs {
		run("sync", 100, syncs)
	}
	if b.Reopen != nil {
		run("reopen", 100, func(t *testing.T, log topiclog.Log) { reopen(t, log, b.Reopen) })
	}
}

func add(t *testing.T, log topiclog.Log, topic, id string, n int) uint64 {
	t.Helper()
	frame := fmt.Appendf(nil, "frame %d", n)
	offset, err := log.Append(t.Context(), topic, id, frame)
	if err != nil {
		t.Fatal(err)
	}
	clear(frame) // the log has a copy
	return offset
}

func head(t *testing.T, log topiclog.Log, topic string) (epoch string, lost, last uint64) {
	t.Helper()
	epoch, lost, last, err := log.Head(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return epoch, lost, last
}

func empty(t *testing.T, log topiclog.Log) {
	if epoch, lost, last := head(t, log, "t"); epoch != "" || lost != 0 || last != 0 {
		t.Errorf("head of nothing: %q %d %d", epoch, lost, last)
	}
	if _, _, err := log.Range(t.Context(), "t", "", 0, 10); !errors.Is(err, topiclog.ErrEpoch) {
		t.Errorf("range of nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, "t", "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("append with a context that has ended: %v", err)
	}
	shut(t, log)
}

func appendAndRange(t *testing.T, log topiclog.Log) {
	var offsets []uint64
	for n := range 20 {
		offsets = append(offsets, add(t, log, "t", "", n))
		add(t, log, "other", "", -n)
	}
	epoch, lost, last := head(t, log, "t")
	if epoch == "" || lost != 0 || last != offsets[19] {
		t.Fatalf("head %q %d %d", epoch, lost, last)
	}
	after, n := uint64(0), 0
	for page := 0; ; page++ {
		entries, lost, err := log.Range(t.Context(), "t", epoch, after, 7)
		if err != nil || lost != 0 || len(entries) > 7 {
			t.Fatalf("page %d: %d entries, lost %d, %v", page, len(entries), lost, err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			if e.Offset != offsets[n] || e.Topic != "t" || e.Epoch != epoch || string(e.Frame) != fmt.Sprintf("frame %d", n) {
				t.Fatalf("entry %d is %+v", n, e)
			}
			after = e.Offset
			n++
		}
	}
	if n != 20 {
		t.Errorf("%d entries, want 20", n)
	}
	if _, _, err := log.Range(t.Context(), "t", "other epoch", 0, 7); !errors.Is(err, topiclog.ErrEpoch) {
		t.Errorf("another epoch: %v", err)
	}
	shut(t, log)
}

func retry(t *testing.T, log topiclog.Log) {
	first := add(t, log, "t", "a", 1)
	second := add(t, log, "t", "b", 2)
	if again := add(t, log, "t", "a", 1); again != first || second <= first {
		t.Errorf("offsets %d, %d, the first again %d", first, second, again)
	}
	if elsewhere := add(t, log, "u", "b", 3); elsewhere == 0 {
		t.Error("ids of one topic must not touch another")
	}
	epoch, _, _ := head(t, log, "t")
	entries, _, err := log.Range(t.Context(), "t", epoch, 0, 10)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	shut(t, log)
}

func bounded(t *testing.T, log topiclog.Log) {
	var last uint64
	for n := range 35 {
		last = add(t, log, "t", "", n)
	}
	epoch, lost, top := head(t, log, "t")
	if lost == 0 || lost >= last || top != last {
		t.Fatalf("lost %d, head %d, last %d", lost, top, last)
	}
	entries, lostThen, err := log.Range(t.Context(), "t", epoch, 0, 100)
	if err != nil || lostThen != lost || len(entries) == 0 || len(entries) > 20 {
		t.Fatalf("%d entries, lost %d (head says %d), %v", len(entries), lostThen, lost, err)
	}
	if entries[0].Offset <= lost || entries[len(entries)-1].Offset != last {
		t.Errorf("entries %d to %d", entries[0].Offset, entries[len(entries)-1].Offset)
	}
	shut(t, log)
}

// tail: every entry once, in order per topic, while several publishers append.
func tail(t *testing.T, log topiclog.Log) {
	const publishers, each = 4, 250
	got := make(chan topiclog.Entry, 2*publishers*each)
	ended := make(chan error, 1)
	go func() { ended <- log.Tail(context.Background(), func(e topiclog.Entry) { got <- e }) }()
	for n := 0; len(got) == 0; n++ { // until the tail has begun
		add(t, log, "warm up", "", n)
	}
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for n := range each {
				if _, err := log.Append(context.Background(), fmt.Sprint(p%2), "", fmt.Appendf(nil, "%d", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	last := map[string]uint64{}
	for n := 0; n < publishers*each; {
		e := <-got
		if e.Topic == "warm up" {
			continue
		}
		if e.Offset <= last[e.Topic] {
			t.Fatalf("topic %s: offset %d after %d", e.Topic, e.Offset, last[e.Topic])
		}
		last[e.Topic] = e.Offset
		n++
	}
	shut(t, log)
	if err := <-ended; !errors.Is(err, topiclog.ErrClosed) {
		t.Errorf("the tail ended with %v", err)
	}
}

func closed(t *testing.T, log topiclog.Log) {
	add(t, log, "t", "", 1)
	shut(t, log)
	_, appending := log.Append(t.Context(), "t", "", nil)
	_, _, ranging := log.Range(t.Context(), "t", "", 0, 1)
	_, _, _, heading := log.Head(t.Context(), "t")
	for i, err := range []error{appending, ranging, heading, log.Tail(t.Context(), nil), log.Close()} {
		if !errors.Is(err, topiclog.ErrClosed) {
			t.Errorf("method %d of a closed log: %v", i, err)
		}
	}
}

func shut(t *testing.T, log topiclog.Log) {
	t.Helper()
	if err := log.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
