package client

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
)

// frames returns the payloads of masked WebSocket frames.
type frames []string

func (f *frames) Message(_ ws.Opcode, data []byte) error {
	*f = append(*f, string(data))
	return nil
}
func (f *frames) Control(op ws.Opcode, data []byte) error {
	*f = append(*f, fmt.Sprintf("%v %s", op, data))
	return nil
}

func parse(t *testing.T, b []byte) string {
	t.Helper()
	p := ws.NewParser(true, 0)
	var f frames
	if err := p.Feed(append([]byte(nil), b...), &f); err != nil {
		t.Fatal(err)
	}
	return strings.Join(f, ",")
}

func take(t *testing.T, q *queue) string {
	t.Helper()
	batch, items, _, _ := q.take(time.Now())
	sum := 0
	for _, it := range items {
		sum += it.size
	}
	if sum != len(batch) {
		t.Fatalf("items have %d bytes, the batch %d", sum, len(batch))
	}
	got := parse(t, batch)
	q.wrote(batch, items)
	return got
}

func send(t *testing.T, q *queue, frame string) {
	t.Helper()
	if _, _, err := q.send("e", []byte(frame), false); err != nil {
		t.Fatal(err)
	}
}

func TestQueueOrder(t *testing.T) {
	q := newQueue(Queue{MaxFrames: 10, MaxBytes: 1000, MaxAge: time.Minute})
	send(t, q, "a")
	if !q.control([]byte("nobody listens")) {
		t.Error("refuses a control frame without a socket")
	}
	q.ping([]byte("1"))
	q.ping([]byte("2"))
	if got := take(t, q); got != "pong 2" {
		t.Errorf("before the start: %q", got)
	}
	q.start([][]byte{[]byte("sub"), []byte("join")})
	send(t, q, "b")
	q.control([]byte("c"))
	send(t, q, "d")
	if got := take(t, q); got != "sub,join,a,b,c,d" {
		t.Errorf("after the start: %q", got)
	}
	if got := take(t, q); got != "" {
		t.Errorf("again: %q", got)
	}
}

func TestQueueBounds(t *testing.T) {
	q := newQueue(Queue{MaxFrames: 3, MaxBytes: 10, MaxAge: time.Minute})
	send(t, q, "1234")
	send(t, q, "1234")
	if _, _, err := q.send("e", []byte("123"), false); nova.CodeOf(err) != nova.Exhausted {
		t.Errorf("11 bytes in 10: %v", err)
	}
	send(t, q, "12")
	if _, _, err := q.send("e", nil, false); nova.CodeOf(err) != nova.Exhausted {
		t.Errorf("4 frames in 3: %v", err)
	}
	if _, _, err := q.send("e", make([]byte, 11), false); nova.CodeOf(err) != nova.Invalid {
		t.Errorf("a frame that never fits: %v", err)
	}
	q.start(nil)
	take(t, q)
	send(t, q, "1234567890")
}

func TestQueueAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(Queue{MaxFrames: 2, MaxBytes: 100, MaxAge: 30 * time.Second})
		send(t, q, "old")
		time.Sleep(20 * time.Second)
		send(t, q, "new")
		time.Sleep(11 * time.Second)
		_, expired, err := q.send("e", []byte("newest"), false)
		if err != nil || len(expired) != 1 {
			t.Fatalf("a full queue with an old frame: %v, %d expired", err, len(expired))
		}
		q.start([][]byte{[]byte("sub")})
		if got := take(t, q); got != "sub,new,newest" {
			t.Errorf("got %q", got)
		}
		q.stop(nil, 0)
		send(t, q, "a")
		time.Sleep(31 * time.Second)
		q.start(nil)
		batch, _, expired, _ := q.take(time.Now())
		if len(batch) != 0 || len(expired) != 1 || q.frames != 0 || q.bytes != 0 {
			t.Errorf("%d bytes, %d expired, %d frames left", len(batch), len(expired), q.frames)
		}
	})
}

// What a socket did not take for certain is sent by the next one, once.
func TestQueueFailedWrite(t *testing.T) {
	for sent, want := range map[int]string{0: "a,b,d,e", 1: "b,d,e", 7: "b,d,e", 8: "d,e", 21: "d,e", 22: "e", 100: "e"} {
		q := newQueue(Queue{MaxFrames: 10, MaxBytes: 1000, MaxAge: time.Minute})
		q.start(nil)
		send(t, q, "a") // 7 bytes with header and key
		send(t, q, "b")
		q.control([]byte("c"))
		send(t, q, "d")
		_, items, _, _ := q.take(time.Now())
		q.ping(nil)
		q.control([]byte("control of the dead socket"))
		send(t, q, "e")
		q.stop(items, sent)
		frames := strings.Count(want, ",") + 1
		if q.frames != frames || q.bytes != frames {
			t.Errorf("%d sent: counts %d frames of %d bytes, want %d", sent, q.frames, q.bytes, frames)
		}
		q.start(nil)
		if got := take(t, q); got != want {
			t.Errorf("%d sent: got %q, want %q", sent, got, want)
		}
	}
}

func BenchmarkQueue(b *testing.B) {
	q := newQueue(Queue{MaxFrames: 1024, MaxBytes: 1 << 20, MaxAge: time.Minute})
	q.start(nil)
	frame := make([]byte, 100)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, _, err := q.send("e", frame, false); err != nil {
			b.Fatal(err)
		}
		if i%16 == 15 {
			batch, items, _, _ := q.take(time.Now())
			q.wrote(batch, items)
		}
	}
}
