package server_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/wire/control"
)

// gate holds calls back while it is shut.
type gate struct {
	shut    atomic.Pointer[chan struct{}]
	waiting atomic.Int32
	most    atomic.Int32
}

// close shuts the gate and returns what opens it.
func (g *gate) close() (open func()) {
	ch := make(chan struct{})
	g.shut.Store(&ch)
	return func() { g.shut.Store(nil); close(ch) }
}

func (g *gate) pass(ctx context.Context) error {
	ch := g.shut.Load()
	if ch == nil {
		return nil
	}
	n := g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
	select {
	case <-*ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gatedLog is a memory log that can be held up, and exchanged for another.
type gatedLog struct {
	now    atomic.Pointer[topiclog.Memory]
	heads  gate
	ranges gate
	slow   string // the only topic that ranges is for; "" = all
}

func newGatedLog(m *topiclog.Memory) *gatedLog {
	l := &gatedLog{}
	l.now.Store(m)
	return l
}

func (l *gatedLog) Append(ctx context.Context, topic, id string, frame []byte) (uint64, error) {
	return l.now.Load().Append(ctx, topic, id, frame)
}

func (l *gatedLog) AppendAll(ctx context.Context, entries []topiclog.Entry) error {
	return l.now.Load().AppendAll(ctx, entries)
}

func (l *gatedLog) Range(ctx context.Context, topic, epoch string, after uint64, limit int) ([]topiclog.Entry, uint64, error) {
	if l.slow == "" || l.slow == topic {
		if err := l.ranges.pass(ctx); err != nil {
			return nil, 0, err
		}
	}
	return l.now.Load().Range(ctx, topic, epoch, after, limit)
}

func (l *gatedLog) Head(ctx context.Context, topic string) (string, uint64, uint64, error) {
	if err := l.heads.pass(ctx); err != nil {
		return "", 0, 0, err
	}
	return l.now.Load().Head(ctx, topic)
}

func (l *gatedLog) Tail(ctx context.Context, fn func(topiclog.Entry)) error {
	return l.now.Load().Tail(ctx, fn)
}

func (l *gatedLog) Close() error { return nil }

// A topic that passed its log by is forgotten with nobody in it; a cursor from before
// is not called whole all the same.
func TestDegradedTopicIsForgotten(t *testing.T) {
	log := newBadLog(t)
	options := loggedOptions(log)
	options.LogWait = 20 * time.Millisecond
	first := newRig(t, options, server.Options{})
	first.fill("t", 1, 3)
	p, _ := first.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
	before := p.subscribed()

	r := newRig(t, options, server.Options{}) // the server started again
	log.mode.Store(refuses)
	r.publish(nova.Topic("t"), 4) // accepted, and nobody is there
	eventually(t, "the topic is gone", func() bool { return r.srv.Metrics().Hub.Topics == 0 })
	log.mode.Store(works)
	p, _ = r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Epoch: before.Epoch, Offset: 3})
	if m := p.subscribed(); m.Recovered {
		t.Errorf("frame 4 was published and is lost: %+v", m)
	}
}

// A catch-up goes on where it was when the topic has passed its log by meanwhile.
func TestCatchUpGoesOnAfterDegrade(t *testing.T) {
	const frames = 500
	log := newBadLog(t)
	options := loggedOptions(log)
	options.LogWait = 20 * time.Millisecond
	options.Backpressure.MaxFrames = 64
	r := newRig(t, options, server.Options{})
	r.fill("t", 1, frames)
	p, m := r.attach("", "", 0)
	p.net.Close()
	r.detached(1)
	if err := r.hub.Client(p.id).Join(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the queue is half full", func() bool { return r.hub.Metrics().Frames.Unsent >= 32 })
	log.mode.Store(refuses)
	err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), quote(frames+1), nova.Durable())
	if nova.CodeOf(err) != nova.Unavailable {
		t.Errorf("durable without a log: %v", err)
	}
	log.mode.Store(works)
	eventually(t, "the log is back", func() bool {
		return market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), quote(frames+2), nova.Durable()) == nil
	})
	back, again := r.attach("", m.Session, 0)
	if !again.Recovered {
		t.Fatalf("%+v", again)
	}
	for last := int64(0); last < frames+2; {
		head, payload := back.data()
		if head.ID != market.QuoteEvent.ID() {
			continue
		}
		var q market.Quote
		if err := q.UnmarshalNova(payload); err != nil || q.Ts != last+1 && (last != frames || q.Ts != frames+2) {
			t.Fatalf("quote %d behind %d, %v", q.Ts, last, err)
		}
		last = q.Ts
	}
}

// Two subscribes find at the same time that the log began again: both are answered.
func TestLogBeginsAgainUnderTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newGatedLog(memoryLog(t, 10_000))
		options := loggedOptions(log)
		options.LogWait = time.Hour
		newQuietRig(t, options, server.Options{}).fill("t", 1, 500)
		r := newQuietRig(t, options, server.Options{})
		p := r.attachPipe()
		p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
		p.subscribed() // the topic knows its place
		other := memoryLog(t, 10_000)
		newQuietRig(t, loggedOptions(other), server.Options{}).fill("t", 1, 300)
		openRanges := log.ranges.close()
		peers := []*rawPeer{r.attachPipe(), r.attachPipe()}
		for _, p := range peers {
			p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
		}
		synctest.Wait()
		if n := log.ranges.waiting.Load(); n != 2 {
			t.Fatalf("%d read the log", n)
		}
		openHeads := log.heads.close()
		log.now.Store(other)
		openRanges()
		time.Sleep(time.Second) // both look again meanwhile
		openHeads()
		for _, p := range peers {
			if m := p.subscribed(); m.ID != 1 || m.Replayed != 300 {
				t.Errorf("%+v", m)
			}
		}
	})
}

// A page of the log that takes long holds up no catch-up but its own.
func TestSlowReadHoldsNobodyUp(t *testing.T) {
	const frames = 200
	log := newGatedLog(memoryLog(t, 10_000))
	log.slow = "slow"
	options := hub.Options{Log: log, LogWait: time.Hour,
		Topics: []hub.TopicRule{{Pattern: "slow", Log: true}, {Pattern: "fast", Size: 2 * frames}}}
	options.Backpressure.MaxFrames = 64
	newRig(t, options, server.Options{}).fill("slow", 1, frames)
	r := newRig(t, options, server.Options{})
	for n := 1; n <= frames; n++ {
		r.publish(nova.Topic("fast"), n)
	}
	defer log.ranges.close()()
	a, _ := r.attach("", "", 0)
	a.send(&control.TopicSubscribe{ID: 1, Topic: "slow"})
	eventually(t, "the log is being read", func() bool { return log.ranges.waiting.Load() == 1 })
	b, _ := r.attach("", "", 0)
	b.send(&control.TopicSubscribe{ID: 1, Topic: "fast"})
	b.subscribed()
	b.expectRun(1, frames)
}

// A client that asks for ever new topics while the log does not answer leaves nothing
// behind with those it gave up.
func TestGivenUpSubscribesCostNothing(t *testing.T) {
	log := newGatedLog(memoryLog(t, 10))
	defer log.heads.close()()
	options := loggedOptions(log)
	options.MaxTopicsPerClient = 2
	options.LogWait = time.Hour
	r := newRig(t, options, server.Options{})
	p, _ := r.attach("", "", 0)
	var b []byte
	for n := range 200 {
		name := fmt.Sprint("x", n)
		for _, m := range []frameWriter{&control.Subscribe{Topic: name}, &control.Unsubscribe{Topic: name}} {
			f, err := m.AppendFrame(nil)
			if err != nil {
				t.Fatal(err)
			}
			b = ws.AppendMasked(b, ws.Binary, f, [4]byte{1, 2, 3, 4})
		}
	}
	p.write(b)
	p.sync()
	eventually(t, "all is gone", func() bool {
		return r.srv.Metrics().Hub.Topics == 0 && log.heads.waiting.Load() == 0
	})
}

// The heads of any number of topics are asked for, a few at a time.
func TestHeadsAtOnce(t *testing.T) {
	const topics, most = 150, 64
	log := newGatedLog(memoryLog(t, 10))
	open := log.heads.close()
	options := loggedOptions(log)
	options.MaxTopicsPerClient = topics
	options.LogWait = time.Hour
	r := newRig(t, options, server.Options{})
	p, _ := r.attach("", "", 0)
	for n := range topics {
		p.send(&control.TopicSubscribe{ID: int64(n), Topic: fmt.Sprint("x", n)})
	}
	p.sync()
	eventually(t, "the log is asked", func() bool { return log.heads.waiting.Load() == most })
	open()
	for range topics {
		p.subscribed()
	}
	if n := log.heads.most.Load(); n != most {
		t.Errorf("%d heads were asked for at once", n)
	}
}

// A snapshot brings the newest frames that the queue takes, and never breaks it.
func TestSnapshotFitsTheQueue(t *testing.T) {
	const frames, room = 500, 100
	for _, logged := range []bool{false, true} {
		options := hub.Options{History: hub.History{Size: frames}}
		if logged {
			options = loggedOptions(memoryLog(t, 10_000))
		}
		options.Backpressure.MaxFrames, options.Backpressure.Policy = room, session.Disconnect
		r := newRig(t, options, server.Options{})
		for n := 1; n <= frames; n++ {
			r.publish(nova.Topic("t"), n)
		}
		if logged {
			r.durable("t", frames+1)
			r = newRig(t, options, server.Options{}) // has nothing in memory
		}
		p := r.join("", "")
		p.send(&control.SnapshotRequest{Topic: "t"})
		first := p.quote(1).Ts
		if first <= frames-room {
			t.Errorf("logged %v: begins with %d", logged, first)
		}
		for n := uint64(2); n <= room; n++ {
			if q := p.quote(n); q.Ts != first+int64(n)-1 {
				t.Fatalf("quote %d, want %d", q.Ts, first+int64(n)-1)
			}
		}
		p.sync()
	}
}

// A client that subscribes again while it catches up in an epoch that is over is told no
// position of the old one as a place in the new: what it is told of the new one it was sent.
func TestSubscribedAgainInANewEpoch(t *testing.T) {
	t.Run("behind the old", func(t *testing.T) { subscribedAgain(t, synctest.Wait) })
	t.Run("anywhere", func(t *testing.T) { subscribedAgain(t, func() {}) })
}

// subscribedAgain reads on after the second subscribe when handled returns.
func subscribedAgain(t *testing.T, handled func()) {
	synctest.Test(t, func(t *testing.T) {
		log := newGatedLog(memoryLog(t, 10_000))
		options := loggedOptions(log)
		options.Backpressure.MaxFrames = 64
		newQuietRig(t, options, server.Options{}).fill("t", 1, 500)
		other := memoryLog(t, 10_000)
		newQuietRig(t, loggedOptions(other), server.Options{}).fill("t", 1, 300)
		r := newQuietRig(t, options, server.Options{})
		p := r.attachPipe()
		p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
		synctest.Wait() // nobody reads: the queue is as full as pages make it
		log.now.Store(other)
		r.publish(nova.Topic("t"), 301)
		synctest.Wait()
		p.send(&control.TopicSubscribe{ID: 2, Topic: "t"})
		handled()
		first := p.subscribed()
		epoch, sent, answered := first.Epoch, int64(0), false
		for !answered || sent < 301 {
			head, payload := p.data()
			switch head.ID {
			case control.TopicSubscribedID:
				var told control.TopicSubscribed
				if err := told.UnmarshalNova(payload); err != nil {
					t.Fatal(err)
				}
				if told.Epoch != epoch {
					epoch, sent = told.Epoch, 0
				}
				if told.Offset != sent || epoch == first.Epoch {
					t.Errorf("%+v behind %d of the new epoch", told, sent)
				}
				answered = answered || told.ID == 2
			case market.QuoteEvent.ID():
				var q market.Quote
				if err := q.UnmarshalNova(payload); err != nil {
					t.Fatal(err)
				}
				if epoch != first.Epoch {
					if sent++; q.Ts != sent {
						t.Fatalf("quote %d, want %d of the new epoch", q.Ts, sent)
					}
				}
			}
		}
	})
}
