package server_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// follower checks what one client with sessions and positions is sent.
type follower struct {
	p      *rawPeer
	names  map[uint64]string        // topic by ref of the present subscription
	asked  map[int64]control.Cursor // by id of a subscribe
	at     map[string]control.Cursor
	holes  map[string]bool // something of the topic was declared since its last frame
	quotes map[string]int64
	shared *sync.Mutex // guards quotes, which all followers share
}

// until reads to the next order.
func (f *follower) until() {
	for {
		head, payload, frame := f.p.frame()
		switch head.ID {
		case control.GapID:
			var m control.Gap
			if err := m.UnmarshalNova(payload); err != nil || m.To < m.From {
				f.p.t.Fatalf("%+v %v", m, err)
			}
			f.gap(m)
		case market.OrderEvent.ID():
			return
		case control.TopicSubscribedID:
			var m control.TopicSubscribed
			if err := m.UnmarshalNova(payload); err != nil {
				f.p.t.Fatal(err)
			}
			f.subscribed(m)
		case market.QuoteEvent.ID():
			var q market.Quote
			if err := q.UnmarshalNova(payload); err != nil {
				f.p.t.Fatal(err)
			}
			ref, offset := trailer(frame)
			f.frame(f.names[ref], int64(offset), q.Ts)
		}
	}
}

func (f *follower) gap(m control.Gap) {
	if m.Topic == "" { // numbers: of any topic
		for topic := range f.at {
			f.holes[topic] = true
		}
		return
	}
	at := f.at[m.Topic]
	if m.From != at.Offset+1 && !(f.holes[m.Topic] && m.From > at.Offset) {
		f.p.t.Errorf("%+v at %+v", m, at)
	}
	at.Offset = m.To
	f.at[m.Topic] = at
}

func (f *follower) subscribed(m control.TopicSubscribed) {
	asked, ok := f.asked[m.ID]
	if m.Recovered && (!ok || asked.Epoch != m.Epoch || asked.Offset != m.Offset) && m.ID != 0 {
		f.p.t.Errorf("%+v answers %+v", m, asked)
	}
	for ref, name := range f.names {
		if name == m.Topic {
			delete(f.names, ref)
		}
	}
	sum := sha256.Sum256([]byte(m.Epoch + "\x00" + m.Topic))
	f.names[binary.LittleEndian.Uint64(sum[:])] = m.Topic
	f.at[m.Topic] = control.Cursor{Topic: m.Topic, Epoch: m.Epoch, Offset: m.Offset}
	f.holes[m.Topic] = false
}

func (f *follower) frame(topic string, offset, ts int64) {
	at, ok := f.at[topic]
	if !ok {
		f.p.t.Fatalf("quote %d of a topic that was not told", ts)
	}
	switch {
	case offset <= at.Offset:
		f.p.t.Errorf("%s: offset %d after %d", topic, offset, at.Offset)
	case offset > at.Offset+1 && !f.holes[topic]:
		f.p.t.Errorf("%s: offset %d after %d, and nothing was declared", topic, offset, at.Offset)
	}
	at.Offset = offset
	f.at[topic], f.holes[topic] = at, false
	f.shared.Lock()
	defer f.shared.Unlock()
	key := fmt.Sprint(topic, " ", at.Epoch, " ", offset)
	if old, ok := f.quotes[key]; ok && old != ts {
		f.p.t.Errorf("%s is quote %d and was %d", key, ts, old)
	}
	f.quotes[key] = ts
}

// step subscribes somewhere, from somewhere, or leaves.
func (f *follower) step(rng *rand.Rand, id int64, topics []string) {
	topic := topics[rng.IntN(len(topics))]
	f.p.send(&control.Unsubscribe{Topic: topic})
	if rng.IntN(5) == 0 {
		return
	}
	m := control.TopicSubscribe{ID: id, Topic: topic, Limit: int64(rng.IntN(3)) * 200}
	if at, ok := f.at[topic]; ok && rng.IntN(3) > 0 {
		m.Epoch, m.Offset = at.Epoch, max(at.Offset-int64(rng.IntN(300)), 0)
	}
	f.asked[id] = control.Cursor{Topic: topic, Epoch: m.Epoch, Offset: m.Offset}
	f.p.send(&m)
}

// Random subscribes from random places, with small bounds and while publishes go
// on: order, one quote per place, and nothing missing that was not declared.
func TestCatchUpAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, hub.Options{
		Log: memoryLog(t, 1500), History: hub.History{Size: 500}, Backpressure: hub.Backpressure{MaxFrames: 64},
		Topics: []hub.TopicRule{{Pattern: "log.*", Log: true}},
	}, server.Options{})
	topics := []string{"log.a", "log.b", "c", "d"}
	quotes, shared := map[string]int64{}, sync.Mutex{}
	followers := make([]*follower, 4)
	for i := range followers {
		p, _ := r.attach("", "", 0)
		followers[i] = &follower{p: p, names: map[uint64]string{}, asked: map[int64]control.Cursor{},
			at: map[string]control.Cursor{}, holes: map[string]bool{}, quotes: quotes, shared: &shared}
	}
	n := 0
	for round := range 25 {
		var work sync.WaitGroup
		for i, f := range followers {
			seed := rng.Uint64()
			work.Go(func() {
				own := rand.New(rand.NewPCG(seed, uint64(i)))
				for k := range 3 {
					f.step(own, int64(round*10+k+1), topics)
				}
			})
		}
		for range rng.IntN(800) {
			n++
			r.publish(nova.Topic(topics[rng.IntN(len(topics))]), n)
		}
		work.Wait()
		for _, f := range followers {
			work.Go(f.until)
		}
		for _, f := range followers {
			// The order must not be dropped. On a busy machine a write under way may hold
			// all that fits in the queue, and leave nothing to drop for it.
			eventually(t, "its queue has room", func() bool { n, _ := r.hub.Client(f.p.id).Queued(); return n < 48 })
		}
		if err := market.OrderEvent.Publish(t.Context(), r.hub, nova.Broadcast(), &market.Order{}); err != nil {
			t.Fatal(err)
		}
		work.Wait()
	}
}
