package client

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// Position is a place in a topic's history. Offsets of different epochs cannot
// be compared.
type Position struct {
	Epoch  string
	Offset uint64
}

// topicSet is what a Conn knows of topics. Conn.mu guards it.
type topicSet struct {
	byName map[string]*topic
	byRef  map[uint64]*topic // those the server has acknowledged on this socket
	lastID int64
}

// topic is one subscription on the wire, shared by all of its name.
type topic struct {
	name      string
	subs      []*Subscription // empty: the server put us there
	id        int64           // of the subscribe frame last sent
	start     int64           // offset to begin at while at.Epoch is ""; -1 = live
	limit     int64           // most retained frames to send, 0 = as the server does
	at        Position
	ref       uint64 // valid while acked
	acked     bool
	recovered bool
	asked     bool // the server was asked for it
	asking    bool // and has not answered: what it says meanwhile may be older
	listed    bool // in the attach that has no answer yet
	doubtful  bool // the server put us there while we were leaving: not asked for again
}

func (s *topicSet) init() {
	s.byName, s.byRef = map[string]*topic{}, map[uint64]*topic{}
}

// disconnect forgets what was true for one socket, or session, only.
func (s *topicSet) disconnect() {
	clear(s.byRef)
	for name, t := range s.byName {
		t.acked, t.asking, t.listed = false, false, false
		if len(t.subs) == 0 {
			delete(s.byName, name)
		}
	}
}

// renewed begins a new session: the listed topics will be answered for.
func (s *topicSet) renewed() {
	clear(s.byRef)
	for name, t := range s.byName {
		t.acked, t.asking = false, false
		if len(t.subs) == 0 && !t.listed {
			delete(s.byName, name)
		}
	}
}

// recovered goes on with a session: it ignored what was listed.
func (s *topicSet) recovered() {
	s.unlist()
	for _, t := range s.byName {
		t.recovered = true
	}
}

func (s *topicSet) unlist() {
	for _, t := range s.byName {
		t.listed = false
	}
}

// open reports whether it is open that the server has us in the topic.
func (t *topic) open() bool { return !t.acked || t.asking }

func (s *topicSet) remove(t *topic) {
	delete(s.byName, t.name)
	if t.acked {
		delete(s.byRef, t.ref)
	}
}

// topicRef is how a trailer names a topic in one epoch.
func topicRef(epoch, name string) uint64 {
	sum := sha256.Sum256([]byte(epoch + "\x00" + name))
	return binary.LittleEndian.Uint64(sum[:])
}

// subscribeFrame asks for a topic in the way the server speaks. c.mu is held.
func (c *Conn) subscribeFrame(t *topic) frameAppender {
	t.asked = true
	if !c.topicsOn {
		return &control.Subscribe{Topic: t.name}
	}
	t.asking = true
	if t.id == 0 || !c.resumes {
		c.topics.lastID++
		t.id = c.topics.lastID
	} // else the answer to the first may be under way, and will come twice
	return t.request()
}

func (t *topic) request() frameAppender {
	m := &control.TopicSubscribe{ID: t.id, Topic: t.name, Epoch: t.at.Epoch, Offset: t.start, Limit: t.limit}
	if t.at.Epoch != "" {
		m.Offset = int64(t.at.Offset)
	}
	return m
}

// subscribeFrames returns the frames that restore the subscriptions that the
// server does not know of. c.mu is held.
func (c *Conn) subscribeFrames() []frameAppender {
	var frames []frameAppender
	for _, name := range slices.Sorted(maps.Keys(c.topics.byName)) {
		if t := c.topics.byName[name]; len(t.subs) > 0 && t.open() && !t.listed {
			frames = append(frames, c.subscribeFrame(t))
		}
	}
	return frames
}

// askAgain repeats the subscriptions that have no answer: it may be among the
// frames that are missing. The id stays, as the answer may just as well be under
// way, and then comes twice.
func (c *Conn) askAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.topicsOn {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.topics.byName)) {
		if t := c.topics.byName[name]; len(t.subs) > 0 && t.open() {
			c.control(t.request())
		}
	}
}

// SubscribeOption changes where a subscription begins. Base servers, which have
// no positions, always begin with the retained history.
type SubscribeOption func(*topic) error

// FromNow leaves the retained history out.
func FromNow() SubscribeOption {
	return func(t *topic) error { t.start = -1; return nil }
}

// Limit bounds the retained frames that a subscription begins with; of more the
// newest come. Default 1,024; Subscribe refuses less than 1.
func Limit(frames int) SubscribeOption {
	return func(t *topic) error {
		if frames < 1 {
			return nova.Errorf(nova.Invalid, "topic %q: a limit of %d retained frames is none; use 1 or more, or FromNow", t.name, frames)
		}
		t.limit = int64(frames)
		return nil
	}
}

// From begins after a position known from Subscription.Position.
func From(p Position) SubscribeOption {
	return func(t *topic) error { t.at, t.start = p, int64(min(p.Offset, wire.MaxSafe)); return nil }
}

// Subscribe subscribes to a topic, now and after every reconnect, and begins
// with its retained history. Subscriptions of one topic share one on the wire,
// which begins with the first and is left with the last; options of the later
// ones have no effect. It does not wait for the server: a refusal ends the
// subscription's iterators with an error and is reported to OnError.
// Errors carry a Code: Invalid (bad name or option), Unavailable (closed), or that of ctx.
func (c *Conn) Subscribe(ctx context.Context, name string, options ...SubscribeOption) (*Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkName("topic", name); err != nil {
		return nil, err
	}
	wanted := &topic{name: name} // bad options are refused, also where they have no effect
	if err := wanted.apply(options); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usableLocked(); err != nil {
		return nil, err
	}
	s := newSubscription(c, name)
	t := c.topics.byName[name]
	if t == nil {
		t = wanted
		c.topics.byName[name] = t
	} else if len(t.subs) == 0 {
		if err := t.apply(options); err != nil {
			return nil, err
		}
	}
	s.topic = t
	t.subs = append(t.subs, s)
	if len(t.subs) == 1 && c.ready { // even when the server put us there: it may since have read that we left
		c.control(c.subscribeFrame(t))
	}
	return s, nil
}

func (t *topic) apply(options []SubscribeOption) error {
	for _, option := range options {
		if err := option(t); err != nil {
			return err
		}
	}
	return nil
}

// leave ends the part of s in its topic.
func (c *Conn) leave(s *Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := s.topic
	t.subs = without(t.subs, s)
	if len(t.subs) == 0 && c.topics.byName[t.name] == t {
		c.topics.remove(t)
		c.control(&control.Unsubscribe{Topic: t.name})
		if c.resumes && (t.asked || t.acked) && c.left.topic(t.name) {
			c.sendPing(time.Now())
		}
	}
}

func (s *socket) onSubscribed(m *control.TopicSubscribed) error {
	c := s.c
	c.mu.Lock()
	t := c.topics.byName[m.Topic]
	switch {
	case !c.topicsOn:
		c.mu.Unlock()
		c.undecodable(nova.Errorf(nova.Invalid, "nova.subscribed for %q without topics/1", m.Topic))
		return nil
	case m.Offset < 0 || m.Offset > wire.MaxSafe:
		c.mu.Unlock()
		return violation("impossible nova.subscribed")
	case m.ID != 0 && (t == nil || t.id != m.ID):
		c.mu.Unlock()
		return nil // of a subscription that was left
	case t == nil:
		_, leaving := c.left.topics[m.Topic]
		t = &topic{name: m.Topic, doubtful: leaving}
		c.topics.byName[m.Topic] = t
	case t.acked:
		delete(c.topics.byRef, t.ref)
	}
	old, at := t.at, Position{m.Epoch, uint64(m.Offset)}
	if m.ID != 0 {
		delete(c.left.topics, m.Topic) // the request came after that
		t.asking, t.doubtful = false, false
	}
	// The answer to a request that was repeated in doubt says nothing new, and
	// may say it of an earlier place.
	repeated := m.ID != 0 && t.acked && old.Epoch == at.Epoch
	if repeated {
		at.Offset = max(at.Offset, old.Offset)
	}
	t.at = at
	t.recovered, t.acked = m.Recovered, true
	t.ref = topicRef(m.Epoch, m.Topic)
	c.topics.byRef[t.ref] = t
	c.mu.Unlock()
	if old.Epoch != "" && !m.Recovered && !repeated && old != at {
		g := Gap{Topic: m.Topic, From: old.Offset + 1}
		if old.Epoch == at.Epoch && at.Offset > old.Offset {
			g.To = at.Offset
		}
		c.gap(g)
	}
	return nil
}

func (s *socket) onRejected(m *control.TopicRejected) error {
	c := s.c
	if m.Group != "" {
		c.mu.Lock()
		delete(c.joined, m.Group)
		c.mu.Unlock()
		c.report(failure(m.Code, "group %q: %s", m.Group, m.Message))
		return nil
	}
	c.drop(m.Topic, m.ID, failure(m.Code, "topic %q: %s", m.Topic, m.Message))
	return nil
}

func (s *socket) onUnsubscribed(m *control.TopicUnsubscribed) error {
	s.c.mu.Lock()
	t := s.c.topics.byName[m.Topic]
	before := s.c.topicsOn && t != nil && t.open() // it speaks of the time before our request
	s.c.mu.Unlock()
	if before {
		return nil
	}
	s.c.drop(m.Topic, 0, failure(m.Code, "the server ended the subscription of %q: %s", m.Topic, m.Message))
	return nil
}

// drop ends all subscriptions of a topic on the server's word. id is that of
// the request refused, 0 = whichever.
func (c *Conn) drop(name string, id int64, cause error) {
	c.mu.Lock()
	t := c.topics.byName[name]
	if t == nil || id != 0 && t.id != id {
		c.mu.Unlock()
		return
	}
	c.topics.remove(t)
	subs := t.subs
	t.subs = nil
	c.mu.Unlock()
	for _, s := range subs {
		s.end(cause)
	}
	if len(subs) > 0 {
		c.report(cause)
	}
}
