package client_test

import (
	"testing"
	"testing/synctest"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// The same cases as in the TypeScript client's session tests.
func TestTopicGaps(t *testing.T) {
	for _, tt := range []struct {
		name      string
		epoch     string
		offset    int64
		recovered bool
		want      string
	}{
		{"recovered at the position", "e", 7, true, "gap t 8-9 lost by the log"},
		{"not recovered, further on", "e", 9, false, "gap t 8-9 unknown reason, gap t 10-11 lost by the log"},
		{"not recovered, further back", "e", 3, false, "gap t 8-0 unknown reason, gap t 4-5 lost by the log"},
		{"not recovered, at the position", "e", 7, false, "gap t 8-9 lost by the log"},
		{"another life of the topic", "f", 0, false, "gap t 8-0 unknown reason, gap t 1-2 lost by the log"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				var r record
				c, p := f.session(r.options(), control.Session{})
				sub, err := c.Subscribe(t.Context(), "t", client.From(client.Position{Epoch: "e", Offset: 7}))
				if err != nil {
					t.Fatal(err)
				}
				p.expect(`nova.subscribe 1 t "e" 7`)
				frame := encode(&control.TopicSubscribed{ID: 1, Topic: "t", Epoch: tt.epoch, Offset: tt.offset, Recovered: tt.recovered})
				wire.Stamp(frame, 1)
				p.send(frame)
				p.control(&control.Gap{Topic: "t", From: tt.offset + 1, To: tt.offset + 2, Reason: 5})
				p.control(&control.Gap{Topic: "t", From: tt.offset + 1, To: tt.offset + 3, Reason: 1}) // superseded: no loss
				p.control(&control.Gap{Topic: "t", From: tt.offset + 1, To: tt.offset + 2, Reason: 5}) // told before
				r.is(t, tt.want)
				if at := (client.Position{Epoch: tt.epoch, Offset: uint64(tt.offset) + 3}); sub.Position() != at || sub.Recovered() != tt.recovered {
					t.Errorf("position %+v, recovered %v; want %+v, %v", sub.Position(), sub.Recovered(), at, tt.recovered)
				}
				shut(t, c, p)
			})
		})
	}
}

// Attach cannot tell a limit: a topic that has one is subscribed to again.
func TestSessionTopicLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var r record
		c, p := f.session(r.options(), control.Session{})
		if _, err := c.Subscribe(t.Context(), "t", client.Limit(5)); err != nil {
			t.Fatal(err)
		}
		p.expect(`nova.subscribe 1 t "" 0`)
		frame := encode(&control.TopicSubscribed{ID: 1, Topic: "t", Epoch: "e", Offset: 7})
		wire.Stamp(frame, 1)
		p.send(frame)
		synctest.Wait()
		p.conn.Close()
		p = f.next()
		p.attached(`attach "n.1" 1`, control.Session{Session: "n.2"})
		p.expect(`nova.subscribe 1 t "e" 7`)
		r.take()
		shut(t, c, p)
	})
}
