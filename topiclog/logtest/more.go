package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ignex/nova/topiclog"
)

// all reads a topic from after in small pages.
func all(t *testing.T, log topiclog.Log, topic string, after uint64) (entries []topiclog.Entry) {
	t.Helper()
	epoch, _, _ := head(t, log, topic)
	for {
		page, _, err := log.Range(t.Context(), topic, epoch, after, 9)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return entries
		}
		entries = append(entries, page...)
		after = page[len(page)-1].Offset
	}
}

// anyBytes: names and frames of every kind and length come back as they went in.
func anyBytes(t *testing.T, log topiclog.Log) {
	names := []string{"a b", "*", ">", "a.b.c", "%", "Grüße 世界", strings.Repeat("n", 255), "\xff\xfe"}
	frames := [][]byte{{}, {0}, []byte("\r\n"), bytes.Repeat([]byte{0xff}, 70_000), bytes.Repeat([]byte("nova"), 1<<18)}
	for i, name := range names {
		for j, frame := range frames {
			if _, err := log.Append(t.Context(), name, fmt.Sprint("id ", i, j, "\n"), frame); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
		}
		got := all(t, log, name, 0)
		if len(got) != len(frames) {
			t.Fatalf("%q: %d frames, want %d", name, len(got), len(frames))
		}
		for j, e := range got {
			if e.Topic != name || e.ID != fmt.Sprint("id ", i, j, "\n") || !bytes.Equal(e.Frame, frames[j]) {
				t.Errorf("%q: frame %d came back with %d bytes, id %q", name, j, len(e.Frame), e.ID)
			}
		}
	}
	shut(t, log)
}

// evicted: a reader whose position is dropped behind it hears of that.
func evicted(t *testing.T, log topiclog.Log) {
	for n := range 100 {
		add(t, log, "t", "", n)
	}
	epoch, _, _ := head(t, log, "t")
	page, lost, err := log.Range(t.Context(), "t", epoch, 0, 10)
	if err != nil || len(page) != 10 || lost != 0 {
		t.Fatalf("%d entries, lost %d, %v", len(page), lost, err)
	}
	for n := range 900 {
		add(t, log, "t", "", n)
	}
	after := page[9].Offset
	page, lost, err = log.Range(t.Context(), "t", epoch, after, 10)
	if err != nil || lost <= after || len(page) == 0 || page[0].Offset <= lost {
		t.Errorf("after %d: %d entries, lost %d, %v", after, len(page), lost, err)
	}
	_, _, last := head(t, log, "t")
	for _, at := range []uint64{last, last + 1, 1 << 60, ^uint64(0)} {
		if page, _, err := log.Range(t.Context(), "t", epoch, at, 10); err != nil || len(page) != 0 {
			t.Errorf("after %d: %d entries, %v", at, len(page), err)
		}
	}
	for _, limit := range []int{0, -1} {
		if page, _, err := log.Range(t.Context(), "t", epoch, lost, limit); err != nil || len(page) != 0 {
			t.Errorf("limit %d: %d entries, %v", limit, len(page), err)
		}
	}
	shut(t, log)
}

// tailsEnd: a tail whose context ends, also in the middle of fn, holds nobody up,
// and another one goes on.
func tailsEnd(t *testing.T, log topiclog.Log) {
	got := make(chan topiclog.Entry, 10_000)
	goesOn := make(chan error, 1)
	go func() { goesOn <- log.Tail(context.Background(), func(e topiclog.Entry) { got <- e }) }()
	n := 0
	for ; len(got) == 0; n++ { // until it has begun
		add(t, log, "t", fmt.Sprint(n), n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	stuck := make(chan struct{})
	go func() {
		var once sync.Once
		ended <- log.Tail(ctx, func(topiclog.Entry) { once.Do(func() { close(stuck) }); <-ctx.Done() })
	}()
	go func() { <-stuck; cancel() }() // by then an append may be waiting for it
	for over := false; !over; n++ {
		add(t, log, "t", fmt.Sprint(n), n)
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the stuck tail ended with %v", err)
			}
			over = true
		case <-got: // stays below its capacity
		}
	}
	last := add(t, log, "t", fmt.Sprint(n), n)
	shut(t, log)
	if err := <-goesOn; !errors.Is(err, topiclog.ErrClosed) {
		t.Errorf("the other tail ended with %v", err)
	}
	close(got)
	var newest uint64
	for e := range got {
		newest = max(newest, e.Offset)
	}
	if newest != last {
		t.Errorf("the other tail saw up to %d of %d", newest, last)
	}
}

// together: while publishers append, readers that page along see each topic in
// order and without a hole that lost does not explain, and heads never fall.
func together(t *testing.T, log topiclog.Log) {
	const topics, publishers, each = 3, 6, 200
	var writing, reading sync.WaitGroup
	for p := range publishers {
		writing.Go(func() {
			for n := range each {
				id := fmt.Sprintf("%d/%d", p, n)
				if _, err := log.Append(context.Background(), fmt.Sprint("t", n%topics), id, []byte(id)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	for i := range topics {
		reading.Go(func() { follow(t, log, fmt.Sprint("t", i), done) })
	}
	writing.Wait()
	close(done)
	reading.Wait()
	for i := range topics {
		last, seen := map[string]int{}, map[string]bool{}
		for _, e := range all(t, log, fmt.Sprint("t", i), 0) {
			var p, n int
			if _, err := fmt.Sscanf(string(e.Frame), "%d/%d", &p, &n); err != nil || seen[e.ID] {
				t.Fatalf("frame %q twice, %v", e.Frame, err)
			}
			if before, ok := last[fmt.Sprint(p)]; ok && n <= before {
				t.Errorf("publisher %d: %d after %d", p, n, before)
			}
			last[fmt.Sprint(p)], seen[e.ID] = n, true
		}
	}
	shut(t, log)
}

func follow(t *testing.T, log topiclog.Log, topic string, done <-chan struct{}) {
	var after, highest uint64
	count := 0
	for over := false; ; {
		select {
		case <-done:
			over = true
		default:
		}
		epoch, _, top, err := log.Head(context.Background(), topic)
		if err != nil || top < highest {
			t.Errorf("%s: head %d after %d, %v", topic, top, highest, err)
			return
		}
		highest = top
		var page []topiclog.Entry
		if epoch != "" {
			if page, _, err = log.Range(context.Background(), topic, epoch, after, 50); err != nil {
				t.Error(err)
				return
			}
		}
		for _, e := range page {
			if e.Offset <= after {
				t.Errorf("%s: offset %d after %d", topic, e.Offset, after)
				return
			}
			after = e.Offset
			count++
		}
		if over && len(page) == 0 {
			if after < highest {
				t.Errorf("%s: the last of %d entries is %d, head %d", topic, count, after, highest)
			}
			return
		}
	}
}

// batches: one call, several topics; repeated ids within it and across calls.
func batches(t *testing.T, log topiclog.Log) {
	b, ok := log.(topiclog.Batcher)
	if !ok {
		t.Fatalf("%T is no topiclog.Batcher", log)
	}
	entries := make([]topiclog.Entry, 100)
	for i := range entries {
		entries[i] = topiclog.Entry{Topic: fmt.Sprint("t", i%3), ID: fmt.Sprint(i), Frame: fmt.Append(nil, i)}
		if i%2 == 0 {
			entries[i].Except = fmt.Sprint("client ", i)
		}
	}
	entries = append(entries, topiclog.Entry{Topic: "t0", ID: "0", Frame: []byte("0")})
	if err := b.AppendAll(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if entries[100].Offset != entries[0].Offset || entries[0].Epoch == "" || entries[3].Offset <= entries[0].Offset {
		t.Errorf("offsets %d, %d, the first again %d", entries[0].Offset, entries[3].Offset, entries[100].Offset)
	}
	again := slices.Clone(entries)
	if err := b.AppendAll(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	for i := range again {
		if again[i].Offset != entries[i].Offset || again[i].Epoch != entries[i].Epoch {
			t.Fatalf("entry %d: offset %d, repeated %d", i, entries[i].Offset, again[i].Offset)
		}
	}
	got := all(t, log, "t0", 0)
	if len(got) != 34 {
		t.Fatalf("%d entries, want 34", len(got))
	}
	for i, e := range got {
		if want := entries[3*i]; e.Except != want.Except || !bytes.Equal(e.Frame, want.Frame) {
			t.Errorf("entry %d: %q without %q, want %q without %q", i, e.Frame, e.Except, want.Frame, want.Except)
		}
	}
	if err := b.AppendAll(t.Context(), nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	shut(t, log)
	if err := b.AppendAll(t.Context(), again); !errors.Is(err, topiclog.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func syncs(t *testing.T, log topiclog.Log) {
	s, ok := log.(topiclog.Syncer)
	if !ok {
		t.Fatalf("%T is no topiclog.Syncer", log)
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Errorf("nothing to sync: %v", err)
	}
	add(t, log, "t", "", 1)
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	shut(t, log)
	if err := s.Sync(t.Context()); !errors.Is(err, topiclog.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// reopen: after a clean end everything is as it was, ids included.
func reopen(t *testing.T, log topiclog.Log, again func(*testing.T, topiclog.Log) topiclog.Log) {
	var last uint64
	for round := range 4 {
		for n := range 10 {
			last = add(t, log, "t", fmt.Sprint(round, n), n)
			add(t, log, fmt.Sprint("only ", round), "", n)
		}
		epoch, lost, top := head(t, log, "t")
		before := all(t, log, "t", 0)
		log = again(t, log)
		if e, l, h := head(t, log, "t"); e != epoch || l != lost || h != top || h != last {
			t.Fatalf("round %d: head %s %d %d, was %s %d %d", round, e, l, h, epoch, lost, top)
		}
		after := all(t, log, "t", 0)
		if !slices.EqualFunc(before, after, func(a, b topiclog.Entry) bool {
			return a.Offset == b.Offset && a.ID == b.ID && a.Epoch == b.Epoch && bytes.Equal(a.Frame, b.Frame)
		}) {
			t.Fatalf("round %d: %d entries, were %d", round, len(after), len(before))
		}
		if offset := add(t, log, "t", fmt.Sprint(round, 9), 9); offset != last {
			t.Errorf("round %d: a repeated id got %d, was %d", round, offset, last)
		}
	}
	shut(t, log)
}
