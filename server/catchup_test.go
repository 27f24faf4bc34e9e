package server_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/wire/control"
)

// loggedOptions are those of a hub that keeps all topics in log.
func loggedOptions(log topiclog.Log) hub.Options {
	return hub.Options{Log: log, Topics: []hub.TopicRule{{Pattern: ">", Log: true}}}
}

func memoryLog(t *testing.T, frames int) *topiclog.Memory {
	log := topiclog.NewMemory(topiclog.MemoryOptions{MaxFrames: frames})
	t.Cleanup(func() { log.Close() })
	return log
}

// subscribed returns the next frame, which must answer a subscribe.
func (p *rawPeer) subscribed() control.TopicSubscribed {
	p.t.Helper()
	head, payload := p.data()
	var m control.TopicSubscribed
	if err := m.UnmarshalNova(payload); head.ID != control.TopicSubscribedID || err != nil {
		p.t.Fatalf("frame %+v, %v; want nova.subscribed", head, err)
	}
	return m
}

// place returns the next quote: its number and its offset.
func (p *rawPeer) place() (ts int64, offset uint64) {
	p.t.Helper()
	for {
		head, payload, frame := p.frame()
		if head.ID == control.GroupsID || head.ID == control.AckID {
			continue
		}
		if head.ID != market.QuoteEvent.ID() || !head.Trailer {
			var gap control.Gap
			_ = gap.UnmarshalNova(payload)
			p.t.Fatalf("frame %+v (gap %+v), want a quote with a trailer", head, gap)
		}
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil {
			p.t.Fatal(err)
		}
		_, offset = trailer(frame)
		return q.Ts, offset
	}
}

// expectRun reads quotes from..to, which have their number as offset.
func (p *rawPeer) expectRun(from, to int) {
	p.t.Helper()
	for n := from; n <= to; n++ {
		if ts, offset := p.place(); ts != int64(n) || offset != uint64(n) {
			p.t.Fatalf("quote %d at %d, want %d", ts, offset, n)
		}
	}
}

// durable publishes a quote and waits for the log.
func (r *rig) durable(topic string, n int) uint64 {
	r.t.Helper()
	var result nova.Result
	err := market.QuoteEvent.Publish(r.t.Context(), r.hub, nova.Topic(topic), quote(n), nova.Durable(), nova.Report(&result))
	if err != nil {
		r.t.Fatal(err)
	}
	return result.Offset
}

// fill publishes quotes from..to and waits for the last to be in the log.
func (r *rig) fill(topic string, from, to int) {
	r.t.Helper()
	for n := from; n < to; n++ {
		r.publish(nova.Topic(topic), n)
	}
	if offset := r.durable(topic, to); offset != uint64(to) {
		r.t.Fatalf("offset %d, want %d", offset, to)
	}
}

// A slow reader behind by 50,000 frames gets all of them, while another is served
// live and the queues stay within their bounds.
func TestCatchUpOverALog(t *testing.T) {
	const frames = 50_000
	r := newRig(t, loggedOptions(memoryLog(t, 100_000)), server.Options{})
	r.fill("t", 1, 3)
	live, _ := r.attach("", "", 0)
	live.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
	first := live.subscribed()
	if first.Offset != 3 {
		t.Fatalf("%+v", first)
	}
	slow, _ := r.attach("", "", 0)
	slow.sync() // it reads nothing more for now
	var reading sync.WaitGroup
	paced := make(chan struct{}, 2) // it may be behind by three times 250 frames
	level := make(chan struct{})    // it has read all of them
	gone := make(chan struct{})     // it has ended, perhaps for a failure
	reading.Go(func() {
		defer close(gone)
		for n := 4; n <= frames; n++ {
			live.expectRun(n, n)
			if n%250 == 0 && n < frames {
				<-paced
			}
		}
		close(level)
		live.expectRun(frames+1, frames+500)
	})
	for n := 4; n <= frames; n++ {
		if n == frames {
			r.durable("t", n)
			break
		}
		r.publish(nova.Topic("t"), n)
		if n%250 == 0 {
			select {
			case paced <- struct{}{}:
			case <-gone:
				t.FailNow()
			}
		}
	}
	slow.send(&control.TopicSubscribe{ID: 1, Topic: "t", Epoch: first.Epoch, Offset: 1, Limit: 100_000})
	select {
	case <-level:
	case <-gone:
	}
	for n := frames + 1; n <= frames+500; n++ { // fewer than a queue holds
		r.durable("t", n)
	}
	reading.Wait()
	if queued := r.hub.Metrics().Frames.Unsent; queued > 2*1024 {
		t.Errorf("%d frames are queued", queued)
	}
	if held := r.hub.Metrics().HistoryBytes; held > 1<<20 {
		t.Errorf("%d bytes of history in memory", held)
	}
	told := slow.subscribed()
	if !told.Recovered || told.Offset != 1 || told.Replayed < frames-2 {
		t.Fatalf("%+v", told)
	}
	slow.expectRun(2, frames+500)
	r.durable("t", frames+501)
	slow.expectRun(frames+501, frames+501) // live now
}

// Cursors far behind, while publishes go on: nothing twice, nothing missing.
func TestCatchUpRacesPublishes(t *testing.T) {
	const before, during = 3000, 1000
	for _, kept := range []string{"log", "memory"} {
		t.Run(kept, func(t *testing.T) {
			options := hub.Options{History: hub.History{Size: before + during}}
			if kept == "log" {
				options = loggedOptions(memoryLog(t, 100_000))
			}
			options.Backpressure.Policy = session.Disconnect
			r := newRig(t, options, server.Options{})
			for n := 1; n < before; n++ {
				r.publish(nova.Topic("t"), n)
			}
			r.durable("t", before)
			peers := make([]*rawPeer, 6)
			for i := range peers {
				peers[i], _ = r.attach("", "", 0)
			}
			var readers sync.WaitGroup
			for i, p := range peers {
				readers.Go(func() {
					p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Limit: 1 << 19})
					if m := p.subscribed(); m.Offset != 0 || m.Recovered || m.Replayed < before {
						t.Errorf("peer %d: %+v", i, m)
					}
					p.expectRun(1, before+during)
				})
			}
			for n := before + 1; n <= before+during; n++ {
				if n%50 == 0 { // whoever is live can keep up
					for _, p := range peers {
						r.hub.Client(p.id).Leave("nothing") // what is on the way is in its queue now
					}
					eventually(t, "the queues are short", func() bool { return r.hub.Metrics().Frames.Unsent < 600 })
				}
				r.durable("t", n)
			}
			readers.Wait()
		})
	}
}

// Of one connection four topics catch up at a time; all are served, and what else
// the client asks is answered meanwhile.
func TestCatchUpsTakeTurns(t *testing.T) {
	const topics, frames = 7, 600
	options := loggedOptions(memoryLog(t, 10_000))
	options.Backpressure.MaxFrames = 100
	r := newRig(t, options, server.Options{})
	for i := range topics {
		r.fill(fmt.Sprint("t", i), 1, frames)
	}
	p, _ := r.attach("", "", 0)
	for i := range topics {
		p.send(&control.TopicSubscribe{ID: int64(i + 1), Topic: fmt.Sprint("t", i)})
	}
	p.send(&control.Ping{Ts: 7})
	next := map[uint64]int{}
	refs, pongs, got := map[string]uint64{}, 0, 0
	for got < topics*frames || pongs == 0 {
		head, payload, frame := p.frame()
		switch head.ID {
		case control.PongID:
			pongs++
		case control.TopicSubscribedID:
			var m control.TopicSubscribed
			if err := m.UnmarshalNova(payload); err != nil || m.Offset != 0 || m.Replayed != frames {
				t.Fatalf("%+v %v", m, err)
			}
			refs[m.Topic] = 0
		case market.QuoteEvent.ID():
			ref, offset := trailer(frame)
			if next[ref]++; uint64(next[ref]) != offset {
				t.Fatalf("offset %d, want %d", offset, next[ref])
			}
			got++
		case control.GroupsID, control.AckID:
		default:
			t.Fatalf("frame %+v", head)
		}
	}
	if len(refs) != topics || len(next) != topics {
		t.Errorf("%d topics answered, %d with frames", len(refs), len(next))
	}
}

// After an unsubscribe or a kick nothing more of the topic is written.
func TestCatchUpIsCancelled(t *testing.T) {
	options := loggedOptions(memoryLog(t, 10_000))
	options.Backpressure.MaxFrames = 100
	r := newRig(t, options, server.Options{})
	r.fill("t", 1, 5000)
	r.fill("other", 1, 1)
	for _, how := range []string{"unsubscribe", "kick", "end"} {
		p, _ := r.attach("", "", 0)
		p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Limit: 10_000})
		p.subscribed()
		p.expectRun(1, 10)
		until := uint32(control.TopicSubscribedID)
		switch how {
		case "unsubscribe":
			p.send(&control.Unsubscribe{Topic: "t"})
			p.send(&control.TopicSubscribe{ID: 2, Topic: "other", Offset: -1})
		case "kick":
			r.hub.Client(p.id).Leave("t")
			until = control.TopicUnsubscribedID
		case "end":
			r.hub.Client(p.id).Disconnect(1000, "bye")
			continue
		}
		p.skipTo(until, 4500)
		r.durable("other", 2)
		if how == "unsubscribe" {
			if head, _ := p.data(); head.ID != market.QuoteEvent.ID() {
				t.Fatalf("%+v", head)
			}
		}
		if topics := r.hub.Client(p.id).Topics(); how == "kick" && len(topics) != 0 {
			t.Errorf("topics %v", topics)
		}
		p.net.Close()
	}
	eventually(t, "the sockets are gone", func() bool { return r.srv.Metrics().Connections == 0 })
}

// skipTo reads quotes and holes, at most so many, until a frame of that id.
func (p *rawPeer) skipTo(id uint32, most int) {
	p.t.Helper()
	for range most {
		head, payload := p.data()
		switch head.ID {
		case id:
			return
		case control.GapID:
			var m control.Gap
			if err := m.UnmarshalNova(payload); err != nil || m.Reason != int64(session.Withdrawn) {
				p.t.Fatalf("%+v %v", m, err)
			}
		}
	}
	p.t.Fatal("the replay went on")
}

// What the log or the memory lost under a reader is declared.
func TestEvictionUnderAReader(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason int64
	}{{"log", 5}, {"memory", 2}} {
		t.Run(c.name, func(t *testing.T) {
			options := hub.Options{History: hub.History{Size: 600}}
			if c.name == "log" {
				options = loggedOptions(memoryLog(t, 600))
			}
			options.Backpressure.MaxFrames = 64
			r := newRig(t, options, server.Options{})
			for n := 1; n < 600; n++ {
				r.publish(nova.Topic("t"), n)
			}
			r.durable("t", 600)
			p, m := r.attach("", "", 0)
			p.net.Close()
			r.detached(1)
			if err := r.hub.Client(p.id).Join(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its queue is half full", func() bool { return r.hub.Metrics().Frames.Unsent >= 33 })
			for n := 601; n < 2000; n++ {
				r.publish(nova.Topic("t"), n)
			}
			r.durable("t", 2000)
			back, again := r.attach("", m.Session, 0)
			if told := back.subscribed(); !again.Recovered || told.Offset != 0 || told.Replayed != 600 {
				t.Fatalf("%+v %+v", again, told)
			}
			next, gaps := uint64(1), 0
			for next <= 2000 {
				head, payload, frame := back.frame()
				switch head.ID {
				case control.GroupsID, control.AckID:
				case control.GapID:
					var g control.Gap
					if err := g.UnmarshalNova(payload); err != nil || g.Topic != "t" || g.From != int64(next) || g.Reason != c.reason {
						t.Fatalf("%+v %v, want from %d, reason %d", g, err, next, c.reason)
					}
					next = uint64(g.To) + 1
					gaps++
				default:
					if _, offset := trailer(frame); offset != next {
						t.Fatalf("offset %d, want %d", offset, next)
					}
					next++
				}
			}
			if gaps == 0 {
				t.Error("no gap was declared")
			}
		})
	}
}
