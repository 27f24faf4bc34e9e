package server_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// frames returns the frames of the next message that is a binary one.
func (p *rawPeer) frames() (list [][]byte, size int) {
	p.t.Helper()
	m := p.next()
	if m.op != ws.Binary {
		p.t.Fatalf("got a %v frame (%v) where data was due", m.op, p.closed)
	}
	for rest := m.data; len(rest) > 0; {
		var frame []byte
		frame, rest = wire.Split(rest)
		if _, _, err := wire.ParseFrame(frame); err != nil {
			p.t.Fatal(err)
		}
		list = append(list, frame)
	}
	return list, len(m.data)
}

// Frames of one flush come in as few messages as 16 KiB allow, in order, with
// numbers and positions; a frame above that comes alone.
func TestBatchToClients(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	p := r.join("?nova=2", "", "session/1", "topics/1", "batch/1")
	p.attach(control.Attach{Topics: []control.Cursor{}})
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
	for told := false; !told; {
		head, _, _ := p.frame()
		told = head.ID == control.TopicSubscribedID
	}
	const n = 900
	long := bytes.Repeat([]byte("long "), 5000)
	for i := range n {
		if err := market.QuoteEvent.Publish(context.Background(), r.hub, nova.Topic("t"), quote(i)); err != nil {
			t.Fatal(err)
		}
		if i%300 == 150 {
			if err := market.ChatEvent.Publish(context.Background(), r.hub, nova.Topic("t"), &market.Chat{Room: "r", Text: string(long)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	messages, quotes, seq := 0, 0, uint64(1) // 1 was nova.subscribed
	for quotes < n {
		list, size := p.frames()
		messages++
		if len(list) > 1 && size > 16<<10 {
			t.Fatalf("%d frames in a message of %d bytes", len(list), size)
		}
		for _, frame := range list {
			head, payload, _ := wire.ParseFrame(frame)
			if head.Seq == 0 {
				continue
			}
			if seq++; head.Seq != seq || !head.Trailer {
				t.Fatalf("number %d after %d, trailer %v", head.Seq, seq-1, head.Trailer)
			}
			if _, offset := trailer(frame); offset != seq-1 {
				t.Fatalf("number %d has offset %d", seq, offset)
			}
			switch head.ID {
			case market.ChatEvent.ID():
				if len(list) > 1 {
					t.Fatalf("a frame of %d bytes among others", len(frame))
				}
			case market.QuoteEvent.ID():
				var q market.Quote
				if err := q.UnmarshalNova(payload); err != nil || q.Ts != int64(quotes) {
					t.Fatalf("quote %+v (%v), want %d", q, err, quotes)
				}
				quotes++
			}
		}
	}
	if messages > n/2 {
		t.Errorf("%d messages for %d frames", messages, n)
	}
}

// inbound is one message of frames as a client with batch/1 sends it.
func inbound(frames ...[]byte) []byte {
	return ws.AppendMasked(nil, ws.Binary, bytes.Join(frames, nil), [4]byte{9, 8, 7, 6})
}

func quoteFrame(t testing.TB, n int) []byte {
	frame, err := market.QuoteEvent.AppendFrame(nil, quote(n))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// What is behind an undecodable frame in its message is discarded, and counts once.
func TestBatchFromClients(t *testing.T) {
	damaged := func(n, at int) []byte {
		b := quoteFrame(t, n)
		b[at] ^= 0xff
		return b
	}
	for _, c := range []struct {
		name   string
		second []byte
		damage hub.Damage
		got    []int64
	}{
		{"whole", quoteFrame(t, 2), 0, []int64{1, 2, 3, 4}},
		{"other version", damaged(2, 0), hub.DamageEnvelope, []int64{1, 4}},
		{"size prefix", damaged(2, 14), hub.DamageEnvelope, []int64{1, 4}},
		{"with a trailer", append(damaged(2, 5), make([]byte, 16)...), hub.DamageEnvelope, []int64{1, 4}},
		{"payload", damaged(2, 18), hub.DamagePayload, []int64{1, 4}},
		{"control", append(wire.AppendHeader(nil, control.SubscribeID), 4, 0, 0, 0, 0xff, 0, 0, 0), hub.DamageControl, []int64{1, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, hub.Options{}, server.Options{})
			handled := make(chan int64, 10)
			market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
				handled <- q.Ts
				return nil
			})
			p := r.join("", "", "batch/1")
			p.write(inbound(quoteFrame(t, 1), c.second, quoteFrame(t, 3)))
			p.write(inbound(quoteFrame(t, 4)))
			for _, want := range c.got {
				if got := <-handled; got != want {
					t.Fatalf("quote %d handled, want %d", got, want)
				}
			}
			want := uint64(0)
			if c.name != "whole" {
				want = 1
			}
			if got := r.hub.Metrics().Damage[c.damage]; got != want {
				t.Errorf("%d undecodable (%v), want %d", got, c.damage, want)
			}
		})
	}
}

// Without the capability a message is one frame, also for a client that names it
// towards a server that does not.
func TestNoBatch(t *testing.T) {
	for _, c := range []struct {
		caps []string
		ho   hub.Options
		so   server.Options
	}{
		{nil, hub.Options{}, server.Options{}},
		{[]string{"batch/1"}, hub.Options{Session: hub.SessionOptions{TTL: -1}}, server.Options{MaxMessageSize: 8 << 10}},
	} {
		r := newRig(t, c.ho, c.so)
		p := r.join("", "", c.caps...)
		p.write(inbound(quoteFrame(t, 1), quoteFrame(t, 2)))
		p.sync()
		if n := r.hub.Metrics().Damage[hub.DamageEnvelope]; n != 1 {
			t.Errorf("%v: %d undecodable", c.caps, n)
		}
	}
}

// The limit of a message counts all its frames.
func TestBatchTooBig(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{MaxMessageSize: 1000})
	p := r.join("", "", "batch/1")
	var frames [][]byte
	for i := range 12 {
		frames = append(frames, quoteFrame(t, i))
	}
	p.write(inbound(frames...))
	p.expectEnd(1009, "message too big")
}

// A burst of frames of one message handed over in parts is still torn as one.
func TestBatchTornOverBursts(t *testing.T) {
	r := newRig(t, hub.Options{}, server.Options{})
	handled := make(chan int64, 1000)
	market.QuoteEvent.On(r.hub, func(_ context.Context, _ *nova.Client, q *market.Quote) error {
		handled <- q.Ts
		return nil
	})
	p := r.join("", "", "batch/1")
	frames := [][]byte{quoteFrame(t, 0)}
	frames[0][18] ^= 0xff
	for i := range 400 { // more than one burst takes
		frames = append(frames, quoteFrame(t, i+1))
	}
	p.write(inbound(frames...))
	p.write(inbound(quoteFrame(t, 1000)))
	if got := <-handled; got != 1000 {
		t.Fatalf("quote %d of the torn message was handled", got)
	}
}
