package client

import (
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// calling queues a call with a frame of its own.
func calling(t *testing.T, q *queue, name string) *pending {
	t.Helper()
	p := &pending{name: name, settled: make(chan struct{})}
	if _, err := q.call(p, func(int64) ([]byte, error) { return frameCalled(name), nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

func frameCalled(name string) []byte {
	return append(wire.AppendHeader(nil, 1), name...)
}

func saying(t *testing.T, q *queue, name string) {
	t.Helper()
	if _, _, err := q.send(name, frameCalled(name), false); err != nil {
		t.Fatal(err)
	}
}

func outcomeOf(p *pending) nova.Code {
	select {
	case <-p.settled:
		return nova.CodeOf(p.err)
	default:
		return -1 // none yet
	}
}

// given returns the names and numbers that a socket is given.
func given(q *queue) (items []item, list map[string]uint64) {
	_, items, _, _ = q.take(time.Now())
	list = map[string]uint64{}
	for _, it := range items {
		list[it.event] = it.seq
	}
	return items, list
}

// What a failing write certainly did not take of calls is never sent and has no
// number; of the others nobody can tell, and they are repeated.
func TestCallsOfALostSocket(t *testing.T) {
	q := newQueue(Queue{MaxFrames: 100, MaxBytes: 1 << 20, MaxAge: time.Hour})
	q.renewed(true, 0)
	q.start(nil)
	saying(t, q, "e1")
	a := calling(t, q, "a")
	items, _ := given(q)
	q.wrote(nil, items) // a may have been taken
	saying(t, q, "e2")
	b := calling(t, q, "b")
	saying(t, q, "e3")
	c := calling(t, q, "c")
	saying(t, q, "e4")
	items, list := given(q)
	if list["e2"] != 3 || list["b"] != 4 || list["e4"] != 7 {
		t.Fatalf("numbers %v", list)
	}
	d := calling(t, q, "d") // not given to a socket
	q.stop(items, items[0].size+items[1].size)
	want := map[*pending]nova.Code{a: nova.UnknownOutcome, b: nova.UnknownOutcome, c: nova.Unavailable, d: nova.Unavailable}
	for p, code := range want {
		if outcomeOf(p) != code {
			t.Errorf("call %s: %v, want %v", p.name, outcomeOf(p), code)
		}
	}
	e := calling(t, q, "e") // waits for the next connection
	saying(t, q, "e5")
	if !q.resumed(1) {
		t.Fatal("not resumed")
	}
	q.start(nil)
	_, list = given(q)
	for name, seq := range map[string]uint64{"a": 2, "e2": 3, "b": 4, "e3": 5, "e4": 6, "e": 7, "e5": 8} {
		if list[name] != seq {
			t.Errorf("%s has number %d, want %d (of %v)", name, list[name], seq, list)
		}
	}
	if len(list) != 7 || outcomeOf(e) != -1 {
		t.Errorf("given %v, outcome of e %v", list, outcomeOf(e))
	}
	q.answered(a.id, false, nil, nil) // nobody waits
	q.answered(e.id, true, nil, nil)  // not that kind of answer
	q.answered(e.id, false, []byte("x"), nil)
	if outcomeOf(e) != nova.OK || string(e.payload) != "x" {
		t.Errorf("e: %v", outcomeOf(e))
	}
	if !q.acked(8) || q.frames != 0 || q.bytes != 0 || len(q.calls) != 0 {
		t.Errorf("left: %d frames, %d bytes, %d calls", q.frames, q.bytes, len(q.calls))
	}
}

// A server without calls is sent none; one that is given up while it waits is not sent.
func TestCallsNotSent(t *testing.T) {
	q := newQueue(Queue{MaxFrames: 100, MaxBytes: 1 << 20, MaxAge: time.Hour})
	a, b := calling(t, q, "a"), calling(t, q, "b")
	if q.abandon(a, nova.Errorf(nova.Cancelled, "by the test")) || outcomeOf(a) != nova.Cancelled {
		t.Errorf("a: %v", outcomeOf(a))
	}
	q.refuseCalls()
	if outcomeOf(b) != nova.Unimplemented {
		t.Errorf("b: %v", outcomeOf(b))
	}
	p := &pending{name: "c"}
	if _, err := q.call(p, nil); nova.CodeOf(err) != nova.Unimplemented {
		t.Errorf("c: %v", err)
	}
	q.start(nil)
	if _, list := given(q); len(list) != 0 {
		t.Errorf("sent %v", list)
	}
	q.stop(nil, 0)
	calling(t, q, "d") // another server may take it
	q.end(errClosed)
	if len(q.calls) != 0 || q.frames != 0 {
		t.Error("calls after the end")
	}
}
