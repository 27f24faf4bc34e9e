package server_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/wire/control"
)

// What a badLog does.
const (
	works     int32 = iota
	refuses         // everything fails and nothing is kept
	ambiguous       // appends fail and are kept
)

var errAway = errors.New("the log is away")

// badLog is a memory log that fails on demand.
type badLog struct {
	*topiclog.Memory
	mode   atomic.Int32
	failed atomic.Int32
	once   atomic.Bool // ambiguous for one append only
	gate   sync.Mutex  // held: appends wait
	late   sync.Mutex  // held: appends are done, and wait before they say so
}

func (l *badLog) fails(mode int32) bool {
	if l.mode.Load() != mode {
		return false
	}
	l.failed.Add(1)
	return true
}

// pass waits while a test holds the gate.
func pass(gate *sync.Mutex) {
	gate.Lock()
	defer gate.Unlock()
}

func (l *badLog) AppendAll(ctx context.Context, entries []topiclog.Entry) error {
	pass(&l.gate)
	if l.fails(refuses) {
		return errAway
	}
	err := l.Memory.AppendAll(ctx, entries)
	pass(&l.late)
	if l.fails(ambiguous) {
		if l.once.Load() {
			l.mode.Store(works)
		}
		return errAway
	}
	return err
}

func (l *badLog) Head(ctx context.Context, topic string) (string, uint64, uint64, error) {
	if l.fails(refuses) {
		return "", 0, 0, errAway
	}
	return l.Memory.Head(ctx, topic)
}

func (l *badLog) Range(ctx context.Context, topic, epoch string, after uint64, limit int) ([]topiclog.Entry, uint64, error) {
	if l.fails(refuses) {
		return nil, 0, errAway
	}
	return l.Memory.Range(ctx, topic, epoch, after, limit)
}

func newBadLog(t *testing.T) *badLog { return &badLog{Memory: memoryLog(t, 10_000)} }

// A frame is delivered once the log has it, in the order of the log; the publisher
// does not wait.
func TestLogBeforeDeliver(t *testing.T) {
	log := newBadLog(t)
	options := loggedOptions(log)
	options.LogWait = time.Minute
	r := newRig(t, options, server.Options{})
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
	if m := p.subscribed(); m.Offset != 0 || m.Epoch == "" {
		t.Fatalf("%+v", m)
	}
	log.gate.Lock()
	if result := r.publish(nova.Topic("t"), 1); result.Members != 1 || result.Offset != 0 {
		t.Errorf("%+v", result)
	}
	r.publish(nova.Topic("t"), 2)
	r.publish(nova.Broadcast(), 100) // nothing holds this one back
	p.expectQuote(2, 100)
	if _, _, head, _ := log.Memory.Head(t.Context(), "t"); head != 0 {
		t.Errorf("head %d", head)
	}
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := market.QuoteEvent.Publish(ended, r.hub, nova.Topic("t"), quote(3), nova.Durable())
	if nova.CodeOf(err) != nova.DeadlineExceeded {
		t.Errorf("durable while the log is slow: %v", err)
	}
	log.gate.Unlock()
	// The topic began with the first append: its epoch is told, and nothing is lost.
	epoch, _, _, err := log.Memory.Head(t.Context(), "t")
	if m := p.subscribed(); err != nil || m.ID != 0 || m.Offset != 0 || !m.Recovered || epoch != "" && m.Epoch != epoch {
		t.Fatalf("%+v %v", m, err)
	}
	p.expectRun(1, 3)
	if offset := r.durable("t", 4); offset != 4 {
		t.Errorf("offset %d", offset)
	}
}

// What the log has and its members do not have yet comes once to those who catch
// up meanwhile.
func TestCatchUpBesideAnAppend(t *testing.T) {
	log := newBadLog(t)
	options := loggedOptions(log)
	options.LogWait = time.Minute
	newRig(t, options, server.Options{}).fill("t", 1, 500)
	r := newRig(t, options, server.Options{}) // has nothing in memory
	log.late.Lock()
	r.publish(nova.Topic("t"), 501)
	eventually(t, "the log has it", func() bool {
		_, _, head, _ := log.Memory.Head(t.Context(), "t")
		return head == 501
	})
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t"})
	if m := p.subscribed(); m.Replayed != 500 {
		t.Errorf("%+v", m)
	}
	p.expectRun(1, 500)
	log.late.Unlock()
	r.durable("t", 502)
	p.expectRun(501, 502)
}

// An append whose outcome is not known is repeated, and counts once.
func TestAmbiguousAppend(t *testing.T) {
	log := newBadLog(t)
	r := newRig(t, loggedOptions(log), server.Options{})
	r.fill("t", 1, 5)
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
	p.subscribed()
	log.once.Store(true)
	for n := 6; n <= 40; n++ {
		if n%5 == 0 {
			log.mode.Store(ambiguous)
		}
		if offset := r.durable("t", n); offset != uint64(n) {
			t.Fatalf("offset %d, want %d", offset, n)
		}
	}
	p.expectRun(6, 40)
	if log.failed.Load() == 0 {
		t.Error("nothing failed")
	}
}

// Without its log a topic goes on without positions; with it again it has another
// epoch, which is told, and a cursor from before is not called whole.
func TestLogAwayDegrade(t *testing.T) {
	log := newBadLog(t)
	options := loggedOptions(log)
	options.LogWait = 20 * time.Millisecond
	r := newRig(t, options, server.Options{})
	r.fill("t", 1, 3)
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
	before := p.subscribed()
	log.mode.Store(refuses)
	err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), quote(4), nova.Durable())
	if nova.CodeOf(err) != nova.Unavailable {
		t.Errorf("durable without a log: %v", err)
	}
	p.expectQuote(2, 4)
	r.publish(nova.Topic("t"), 5)
	p.expectQuote(3, 5)
	late, _ := r.attach("", "", 0) // joins are answered from memory
	late.send(&control.TopicSubscribe{ID: 9, Topic: "t", Epoch: before.Epoch, Offset: 3})
	if m := late.subscribed(); m.ID != 9 || m.Offset != 3 || m.Replayed != 0 {
		t.Errorf("%+v", m)
	}
	log.mode.Store(works)
	again := p.subscribed()
	if again.ID != 0 || again.Epoch == before.Epoch || again.Recovered || again.Offset != 3 {
		t.Fatalf("%+v after %+v", again, before)
	}
	if offset := r.durable("t", 6); offset != 4 {
		t.Errorf("offset %d", offset)
	}
	if ts, offset := p.place(); ts != 6 || offset != 4 {
		t.Errorf("quote %d at %d", ts, offset)
	}
	q, _ := r.attach("", "", 0)
	q.send(&control.TopicSubscribe{ID: 1, Topic: "t", Epoch: before.Epoch, Offset: 3})
	if m := q.subscribed(); m.Recovered || m.Replayed != 4 || m.Epoch != again.Epoch {
		t.Errorf("%+v", m)
	}
}

// A subscribe to a topic whose log does not answer yet holds nothing else up, and
// can be taken back.
func TestSubscribeWaitsForTheLog(t *testing.T) {
	log := newBadLog(t)
	log.mode.Store(refuses)
	options := loggedOptions(log)
	options.LogWait = time.Minute
	r := newRig(t, options, server.Options{})
	p, _ := r.attach("", "", 0)
	for id, topic := range []string{"left", "t", "t", "kept"} {
		p.send(&control.TopicSubscribe{ID: int64(id), Topic: topic})
	}
	p.send(&control.Unsubscribe{Topic: "left"})
	p.send(&control.Subscribe{Topic: "left"})
	p.send(&control.Unsubscribe{Topic: "left"})
	p.send(&control.Ping{Ts: 1})
	if head, _ := p.data(); head.ID != control.PongID { // before any answer
		t.Fatalf("%+v", head)
	}
	r.publish(nova.Broadcast(), 1)
	p.expectQuote(1, 1)
	log.mode.Store(works)
	ids := map[int64]bool{}
	for range 3 {
		ids[p.subscribed().ID] = true
	}
	if !ids[1] || !ids[2] || !ids[3] {
		t.Errorf("answered: %v", ids)
	}
	eventually(t, "the topic that was left is gone", func() bool { return r.srv.Metrics().Hub.Topics == 2 })
}

// Close does not wait for a log that is away: whoever waits for it is told.
func TestCloseWithoutTheLog(t *testing.T) {
	for _, policy := range []hub.LogPolicy{hub.Degrade, hub.Hold} {
		log := newBadLog(t)
		log.mode.Store(refuses)
		options := loggedOptions(log)
		options.Topics[0].LogPolicy = policy
		options.LogWait = time.Hour
		r := newRig(t, options, server.Options{})
		outcome := make(chan error, 1)
		go func() {
			outcome <- market.QuoteEvent.Publish(context.Background(), r.hub, nova.Topic("t"), quote(1), nova.Durable())
		}()
		eventually(t, "the log was asked", func() bool { return log.failed.Load() > 0 })
		if err := r.hub.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-outcome; nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("policy %d: %v", policy, err)
		}
	}
}

// A topic that holds delivers nothing without its log, refuses further publishes,
// and loses none that it accepted.
func TestLogAwayHold(t *testing.T) {
	log := newBadLog(t)
	options := loggedOptions(log)
	options.Topics[0].LogPolicy = hub.Hold
	options.LogWait = 20 * time.Millisecond
	r := newRig(t, options, server.Options{})
	r.fill("t", 1, 3)
	p, _ := r.attach("", "", 0)
	p.send(&control.TopicSubscribe{ID: 1, Topic: "t", Offset: -1})
	p.subscribed()
	log.mode.Store(refuses)
	accepted := 3
	eventually(t, "publishes are refused", func() bool {
		err := market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), quote(accepted+1))
		if err == nil {
			accepted++
		} else if nova.CodeOf(err) != nova.Unavailable {
			t.Errorf("%v", err)
		}
		return err != nil
	})
	log.mode.Store(works)
	p.expectRun(4, accepted)
	eventually(t, "publishes are taken", func() bool {
		return market.QuoteEvent.Publish(t.Context(), r.hub, nova.Topic("t"), quote(accepted+1), nova.Durable()) == nil
	})
	p.expectRun(accepted+1, accepted+1)
}

// What a client must not get it gets from no replay either; base clients and
// snapshots are served from the log as well.
func TestLoggedReplays(t *testing.T) {
	log := memoryLog(t, 10_000)
	r := newRig(t, loggedOptions(log), server.Options{})
	p := r.join("", "")
	other := r.join("", "")
	p.sync()
	for n := 1; n <= 300; n++ {
		r.publish(nova.Topic("t").But(p.id), n)
	}
	r.durable("t", 301)
	p.send(&control.Subscribe{Topic: "t"})
	if q := p.quote(1); q.Ts != 301 {
		t.Errorf("quote %d", q.Ts)
	}
	other.send(&control.Subscribe{Topic: "t"})
	for n := uint64(1); n <= 301; n++ {
		if q := other.quote(n); q.Ts != int64(n) {
			t.Fatalf("quote %d, want %d", q.Ts, n)
		}
	}
	// Another server over the same log has nothing in memory.
	r2 := newRig(t, loggedOptions(log), server.Options{})
	third := r2.join("", "")
	third.send(&control.SnapshotRequest{Topic: "t"})
	for n := uint64(1); n <= 301; n++ {
		if q := third.quote(n); q.Ts != int64(n) {
			t.Fatalf("quote %d, want %d", q.Ts, n)
		}
	}
	if n := r2.srv.Metrics().Hub.Topics; n != 0 {
		t.Errorf("the snapshot made %d topics", n)
	}
}

// A rule bounds age, size and members.
func TestTopicRules(t *testing.T) {
	var now atomic.Int64
	now.Store(1)
	r := newRig(t, hub.Options{
		Clock: func() time.Time { return time.Unix(now.Load(), 0) },
		Topics: []hub.TopicRule{
			{Pattern: "short.*", TTL: 10 * time.Second, MaxMembers: 1},
			{Pattern: "none.>", Size: -1},
			{Pattern: ">", Size: 2},
		},
	}, server.Options{})
	for n := 1; n <= 3; n++ {
		for _, topic := range []string{"short.a", "none.a.b", "x"} {
			r.publish(nova.Topic(topic), n)
		}
		now.Add(4)
	}
	p, _ := r.attach("", "", 0)
	for i, c := range []struct {
		topic  string
		offset int64
		count  int64
	}{{"short.a", 1, 2}, {"none.a.b", 0, 0}, {"x", 1, 2}} {
		p.send(&control.TopicSubscribe{ID: int64(i + 1), Topic: c.topic})
		if m := p.subscribed(); m.Offset != c.offset || m.Replayed != c.count {
			t.Errorf("%+v, want offset %d and %d frames", m, c.offset, c.count)
		}
		for range c.count {
			p.place()
		}
	}
	q, _ := r.attach("", "", 0)
	q.send(&control.TopicSubscribe{ID: 1, Topic: "short.a"})
	var no control.TopicRejected
	q.expectFrame(control.TopicRejectedID, 1, &no)
	if no.Code != int64(nova.Exhausted) {
		t.Errorf("%+v", no)
	}
	now.Add(100)
	p.send(&control.Unsubscribe{Topic: "short.a"})
	p.sync()
	q.send(&control.TopicSubscribe{ID: 2, Topic: "short.a"})
	if m := q.subscribed(); m.Offset != 3 || m.Replayed != 0 || m.Recovered {
		t.Errorf("%+v", m)
	}
}
