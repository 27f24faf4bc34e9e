package hub_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// simSock is one socket with the simulator's view of both ends.
type simSock struct {
	*link
	id     int
	client *simClient
	hub    *hub.Hub
	tap    simReader
	read   simReader
	next   uint64 // by the tap: the number that follows, 0 = before nova.session
	most   uint64 // highest number so far
	again  int    // numbers written a second time
	life   *hub.Session
	want   int // of nova.session: 1 recovered, 2 not, 0 unknown
	lost   bool
	hole   [2]bool
	steal  *simWriter
}

// simReader strips the answer to the upgrade and scans the rest.
type simReader struct {
	head []byte
	up   bool
	sim.Scanner
}

func (r *simReader) feed(b []byte, step int) ([]sim.Message, error) {
	if !r.up {
		r.head = append(r.head, b...)
		i := strings.Index(string(r.head), "\r\n\r\n")
		if i < 0 {
			return nil, nil
		}
		r.up, b = true, r.head[i+4:]
	}
	return r.Feed(b, step)
}

// dial opens a socket for a client.
func (w *simWorld) dial(cl *simClient, query url.Values) *simSock {
	k := &simSock{link: newLink(w.room, &w.step), id: len(w.socks), client: cl, hub: w.hub}
	w.socks = append(w.socks, k)
	request := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/ws", RawQuery: query.Encode()}, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}},
	}
	request = request.WithContext(context.Background())
	s := w.server
	go s.ServeHTTP(hijack{k.link}, request)
	return k
}

// tapped judges one message that the server wrote.
func (k *simSock) tapped(m *sim.Message) {
	w := k.client.w
	if m.Op != 2 {
		return
	}
	switch {
	case m.Head.ID == control.SessionID:
		var v control.Session
		v.UnmarshalNova(m.Body)
		k.next, k.life = uint64(v.NextSeq), k.hub.SimFind(v.Session)
		if k.want == 1 && !v.Recovered || k.want == 2 && v.Recovered {
			w.fail(6, "socket %d: recovered %v, want %v", k.id, v.Recovered, k.want == 1)
		}
		if v.Recovered && k.life != nil {
			k.refreshed()
		}
	case m.Head.ID == control.GapID && m.Head.Seq == 0:
		var v control.Gap
		v.UnmarshalNova(m.Body)
		if uint64(v.From) != k.next || v.To < v.From {
			w.fail(3, "socket %d: gap %d..%d, next is %d", k.id, v.From, v.To, k.next)
		}
		k.next = uint64(v.To) + 1
	case m.Head.Seq > 0:
		if v := (control.TopicSubscribed{}); w.topicLog != nil && m.Head.ID == control.TopicSubscribedID &&
			v.UnmarshalNova(m.Body) == nil && v.Topic == simLogged {
			w.topicLog.told(v.Epoch)
		}
		k.number(m)
	}
	if m.Ref != 0 {
		id, ok := w.offset(m.Ref, m.Offset)
		if got := simEmitID(m.Head.ID, m.Body); !ok || id != got {
			w.fail(13, "offset %d of %x (%s) is emit %d and emit %d", m.Offset, m.Ref, w.names[m.Ref], id, got)
		}
	}
}

func (k *simSock) number(m *sim.Message) {
	w, n := k.client.w, m.Head.Seq
	if !k.client.base {
		if k.next == 0 {
			w.fail(9, "socket %d: number %d before nova.session", k.id, n)
		}
		if n != k.next {
			w.fail(3, "socket %d: number %d, next is %d", k.id, n, k.next)
		}
	}
	k.next = n + 1
	if n <= k.most {
		if k.again++; k.again > k.client.asked*w.limits.Session.MaxFrames {
			w.fail(20, "socket %d: %d frames a second time, asked for %d times", k.id, k.again, k.client.asked)
		}
	}
	k.most = max(k.most, n)
	if k.life == nil {
		return
	}
	l, id := w.log(k.life), simEmitID(m.Head.ID, m.Body)
	was, ok := l.numbers[n]
	if ok && was.emit != id {
		w.fail(1, "socket %d: number %d is emit %d and emit %d", k.id, n, was.emit, id)
	}
	if !ok {
		l.numbers[n] = simQueued{id, 0}
	}
	if id >= 0 {
		k.allowed(l, m, w.rightOf(id, m.Ref))
	}
}

// rightOf returns what a client has to be in to get an emit.
func (w *simWorld) rightOf(id int, ref uint64) simRight {
	t := w.emits[id].target
	if name := w.names[ref]; name != "" {
		return simRight{nova.ToTopic, name}
	}
	return simRight{t.Kind, t.Name}
}

// allowed holds that nothing of a right that was taken away is written.
func (k *simSock) allowed(l *simLog, m *sim.Message, right simRight) {
	w := k.client.w
	w.mu.Lock()
	cut, ok := l.cuts[right]
	w.mu.Unlock()
	if ok && m.Head.Seq <= cut.upTo && (m.Begun > cut.step || cut.sock == k) && !l.unsub[right.name] {
		w.fail(10, "socket %d: number %d of %v in step %d, taken away in step %d up to number %d",
			k.id, m.Head.Seq, right, m.Begun, cut.step, cut.upTo)
	}
}

// refreshed notes what the identity of a new socket may not have.
func (k *simSock) refreshed() {
	w, l := k.client.w, k.client.w.log(k.life)
	if peer, _ := k.has(k.life); peer == nil {
		return // the next one has it by now
	}
	for _, name := range simRooms {
		k.revoked(w, l, k.life, simRightNamed(name))
	}
}

func simRightNamed(name string) simRight {
	if name[0] == 't' {
		return simRight{nova.ToTopic, name}
	}
	return simRight{nova.ToGroup, name}
}

// revoked notes that what is queued of a right may not be written after this step,
// nor to this socket, unless it was given back meanwhile.
func (k *simSock) revoked(w *simWorld, l *simLog, s *hub.Session, right simRight) {
	var last uint64
	s.SimLook(func(q *session.Queue) { last = q.Last() })
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.leaving == 0 && !s.SimMember(nova.Target{Kind: right.kind, Name: right.name}) {
		l.cuts[right] = simCut{k, w.now(), last}
	}
}

// simEmitID returns the emit of an application frame, −1 of others.
func simEmitID(event uint32, body []byte) int {
	for _, id := range simEventIDs {
		if event == id {
			var q market.Quote
			if q.UnmarshalNova(body) == nil {
				return int(q.Ts)
			}
		}
	}
	return -1
}

var simEventIDs = func() (list []uint32) {
	for _, name := range simEvents {
		list = append(list, wire.EventID(name))
	}
	return list
}()
