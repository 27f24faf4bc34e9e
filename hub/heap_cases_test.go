//go:build !race

package hub_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// The bounds of one queue for frames of so many bytes: what a frame costs with its
// batch and its place in the ring, which may be four times too long.
func heapUnsent(frames, size int) int64 { return int64(frames) * int64(size+heapFrame) }

// heapFrame is what a frame costs at most that is in no batch with others.
const heapFrame = 112 + 112 + 96 + 4*24

func fixed(n int) func(int) string {
	text := strings.Repeat("x", n)
	return func(int) string { return text }
}

// hexed is text that compresses to a little more than half.
func hexed(n int) string {
	rnd := rand.New(rand.NewPCG(20261130, 15))
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[rnd.IntN(16)]
	}
	return string(b)
}

func heapCases() []heapCase {
	return slices.Concat(heapQueueCases(), heapTotalCases(), heapTopicCases(), heapHistoryCases(), heapLaneCases())
}

// heapQueueCases fill the queues of sessions.
func heapQueueCases() []heapCase {
	stalled := heapKind{stalled: true}
	few := hub.Options{Backpressure: hub.Backpressure{MaxFrames: 200}}
	return []heapCase{
		{name: "stalled readers, small frames", most: 10 * heapUnsent(1024, 100), grow: func(r *heapRig) {
			r.connect(10, stalled)
			r.each(3000, "drop", fixed(8))
		}},
		{name: "stalled readers, large frames", most: 10 * (1<<20 + 1<<16), grow: func(r *heapRig) {
			r.connect(10, stalled)
			r.each(60, "drop", fixed(60_000))
		}},
		{name: "kept for resume, small frames", most: 3 * heapUnsent(16384, 100), grow: func(r *heapRig) {
			r.connect(3, heapKind{})
			r.each(20_000, "must", fixed(8))
		}},
		{name: "kept for resume, large frames", most: 10 * (1<<20 + 1<<16), grow: func(r *heapRig) {
			r.connect(10, heapKind{})
			r.each(60, "must", fixed(60_000))
		}},
		{name: "many keys of class latest", most: 10 * heapUnsent(200, 200), options: few, grow: func(r *heapRig) {
			r.connect(10, stalled)
			r.each(300, "latest", func(i int) string { return fmt.Sprintf("%050d", i) })
		}},
		{name: "long keys of class latest", most: 10 * heapUnsent(200, 1100), options: few, grow: func(r *heapRig) {
			r.connect(10, stalled)
			r.each(300, "latest", func(i int) string { return fmt.Sprintf("%01000d", i) })
		}},
	}
}

// heapTotalCases fill many queues, or with frames that take more than their bytes.
func heapTotalCases() []heapCase {
	return []heapCase{
		{name: "more than the total, sockets open", most: 2 << 20, options: hub.Options{Session: hub.SessionOptions{TotalBytes: 2 << 20}}, grow: func(r *heapRig) {
			r.connect(20, heapKind{})
			r.each(16, "must", fixed(30_000))
			time.Sleep(10 * time.Second)
		}},
		{name: "sessions without a socket", most: 10 * heapUnsent(1024, 100), grow: func(r *heapRig) {
			r.detached(10)
			r.each(3000, "drop", fixed(8))
		}},
		{name: "more than the total, without sockets", most: 2 << 20, options: hub.Options{Session: hub.SessionOptions{TotalBytes: 2 << 20}}, grow: func(r *heapRig) {
			r.detached(20)
			r.each(10, "must", fixed(30_000))
			time.Sleep(3 * time.Second)
		}},
		{name: "compressed payloads", most: 6 * 2 * (1<<20 + 1<<16), grow: func(r *heapRig) {
			if err := r.hub.CompressWith(6, 64); err != nil {
				r.t.Fatal(err)
			}
			text := hexed(20_000)
			r.connect(6, heapKind{deflate: true})
			r.each(80, "must", func(int) string { return text })
		}},
		{name: "stalled readers of the same frames", most: heapUnsent(1024, 100) + 80*2048*24, grow: func(r *heapRig) {
			r.connect(80, heapKind{stalled: true})
			for range 1100 {
				r.publish("drop", nova.Broadcast(), "x")
				synctest.Wait() // each is a batch
			}
		}},
		{name: "one slow reader in a crowd", most: 4 << 20, grow: func(r *heapRig) {
			r.connect(30, heapKind{acks: true})
			r.connect(1, heapKind{stalled: true})
			text := strings.Repeat("x", 2000)
			for range 400 {
				r.burst(func() {
					for i := range 100 {
						if i == 50 {
							r.publish("must", nova.Broadcast(), "x")
							continue
						}
						r.publish("drop", nova.Broadcast(), text)
					}
				})
			}
		}},
	}
}

// detached connects clients that lose their sockets.
func (r *heapRig) detached(n int) {
	for _, p := range r.connect(n, heapKind{caps: hub.CapSession}) {
		p.session.Lost(&p.cursor, 1006, false)
	}
}

func heapNames(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(prefix, i)
	}
	return list
}

// heapTopicCases join topics.
func heapTopicCases() []heapCase {
	return []heapCase{
		{name: "idle sessions", most: 1000 * 500, grow: func(r *heapRig) { r.connect(1000, heapKind{caps: hub.CapSession | hub.CapTopics}) }},
		{name: "topics joined at once", topics: 1280, members: 1280, most: 10 * heapUnsent(128, 100), grow: func(r *heapRig) {
			for i, p := range r.connect(10, heapKind{caps: hub.CapTopics}) {
				for _, name := range heapNames(fmt.Sprint("t", i, "."), 128) {
					p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: name, Positioned: true})
				}
			}
		}},
		{name: "topics once joined", most: 10 * heapUnsent(4096, 100), grow: func(r *heapRig) {
			peers := r.connect(10, heapKind{})
			for round := range 20 {
				for i, p := range peers {
					for _, name := range heapNames(fmt.Sprint("t", i, ".", round, "."), 100) {
						p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: name})
						p.session.Unsubscribe(&p.cursor, name)
					}
				}
			}
		}},
	}
}

// heapHistoryCases fill what topics keep.
func heapHistoryCases() []heapCase {
	return []heapCase{
		{name: "histories of small frames", topics: 500, most: 500 * heapUnsent(64, 200), grow: func(r *heapRig) {
			for _, name := range heapNames("t", 500) {
				for range 100 {
					r.publish("plain", nova.Topic(name), "x")
				}
			}
		}},
		{name: "histories that have begun", topics: 500, most: 500 * heapUnsent(64, 200), grow: func(r *heapRig) {
			for _, name := range heapNames("t", 500) {
				for range 33 {
					r.publish("plain", nova.Topic(name), "x")
				}
			}
		}},
		{name: "histories of topics with members", topics: 64, members: 64, most: 4<<20 + 1<<20, options: hub.Options{History: hub.History{TotalBytes: 4 << 20}}, grow: func(r *heapRig) {
			p := r.connect(1, heapKind{acks: true})[0]
			text := strings.Repeat("x", 16_000)
			for _, name := range heapNames("t", 64) {
				p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: name})
				for range 64 {
					r.publish("plain", nova.Topic(name), text)
				}
			}
		}},
		{name: "newest frames of many keys", topics: 1, most: 10_000 * 900, grow: func(r *heapRig) {
			for i := range 12_000 {
				r.publish("state", nova.Topic("t"), fmt.Sprintf("%020d", i))
			}
		}},
		{name: "stalled readers that catch up", topics: 4, members: 40, lane: 1 << 18, most: 4*(64*(17_000)) + 10*(1<<18+1<<16),
			options: hub.Options{Backpressure: hub.Backpressure{MaxBytes: 1 << 18}}, grow: func(r *heapRig) {
				text := strings.Repeat("x", 16_000)
				for range 10 {
					p := r.connect(1, heapKind{stalled: true, caps: hub.CapTopics})[0]
					for _, name := range heapNames("t", 4) {
						for range 64 {
							r.publish("plain", nova.Topic(name), text)
						}
						p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: name, Positioned: true})
						r.settle()
					}
				}
			}},
	}
}

// heapLaneCases fill the inbox of the shard and what sessions have besides frames.
func heapLaneCases() []heapCase {
	small := hub.Options{Backpressure: hub.Backpressure{MaxBytes: 1 << 18}}
	return []heapCase{
		{name: "publishes on the way", most: 8<<20 + 1<<16, grow: func(r *heapRig) {
			r.connect(1, heapKind{acks: true})
			r.hub.SimInboxBound(8 << 20)
			r.held(func() bool {
				_, err := r.hub.TryPublishFrame(r.t.Context(), nova.Publication{Event: r.events["drop"], Frame: simFrame("drop", 0, "x"), Target: nova.Broadcast()})
				return err == nil
			}, 8<<20)
		}},
		{name: "joins on the way", topics: 1, members: 1, most: 4<<20 + 1<<16, options: hub.Options{}, grow: func(r *heapRig) {
			p := r.connect(1, heapKind{caps: hub.CapTopics, acks: true})[0]
			r.hub.SimInboxBound(4 << 20)
			r.held(func() bool {
				p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: "t", Positioned: true})
				p.session.Unsubscribe(&p.cursor, "t")
				return r.hub.SimInbox() < 4<<20 // Full waits then, see TestFullWaitsForTheShard
			}, 4<<20)
		}},
		{name: "refused joins", lane: 0, most: 10 * 2 * heapUnsent(1024, 300), options: hub.Options{MaxTopicsPerClient: 1}, grow: func(r *heapRig) {
			for _, p := range r.connect(10, heapKind{caps: hub.CapTopics, stalled: true}) {
				for i := 0; !p.session.Full(&p.cursor); i++ {
					p.session.Subscribe(&p.cursor, hub.SubscribeRequest{Topic: fmt.Sprint("t", i), Positioned: true})
					r.settle()
				}
			}
		}, topics: 10, members: 10},
		{name: "control frames ahead", lane: 4 << 10, most: 10 * heapUnsent(1, 100), grow: func(r *heapRig) {
			for _, p := range r.connect(10, heapKind{stalled: true}) {
				for !p.session.Full(&p.cursor) {
					p.session.Resume(&p.cursor, -1)
				}
			}
		}},
		{name: "answers to calls", lane: 1<<18 + 1<<16, most: 10 * heapUnsent(8, 100), options: small, grow: func(r *heapRig) {
			for _, p := range r.connect(10, heapKind{stalled: true, caps: hub.CapSession | hub.CapCalls}) {
				for i := 0; !p.session.Full(&p.cursor) && p.closed == 0; i++ {
					r.call(p, int64(i))
				}
			}
		}},
	}
}

// held does what fills the inbox while its shard stands still, and compares then.
func (r *heapRig) held(more func() bool, most int64) {
	release := r.hold()
	for more() {
	}
	r.holds(&heapCase{most: most + 1<<16, topics: 1, members: 1})
	release()
}

// call makes a call that nobody handles.
func (r *heapRig) call(p *heapPeer, id int64) {
	frame, err := (&control.Call{ID: id, Name: "nothing"}).AppendFrame(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	head, payload, err := wire.ParseFrame(frame)
	if err != nil {
		r.t.Fatal(err)
	}
	b := r.hub.Burst()
	b.Add(head, payload)
	if due := p.session.Inbound(&p.cursor, b); due != nil {
		due.Run()
	}
}
