package hub

import (
	"context"
	"sync/atomic"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// PublishFrame implements nova.Hub.
func (h *Hub) PublishFrame(ctx context.Context, p nova.Publication) (nova.Result, error) {
	return h.publish(ctx, &p, !p.Try)
}

// TryPublishFrame is PublishFrame that does not wait for room: it returns an
// error with code Exhausted instead.
func (h *Hub) TryPublishFrame(ctx context.Context, p nova.Publication) (nova.Result, error) {
	return h.publish(ctx, &p, false)
}

func (h *Hub) publish(ctx context.Context, p *nova.Publication, wait bool) (result nova.Result, err error) {
	if p.WaitForSpace {
		return h.publishSpaced(ctx, *p, wait)
	}
	state, err := h.checkPublication(p)
	if err != nil {
		return nova.Result{}, err
	}
	if h.options.Tracer != nil {
		var end func(error)
		ctx, end = h.options.Tracer.Start(ctx, "publish", p.Event.Name)
		defer func() { end(err) }()
	}
	if err := h.waitSpace(ctx, wait); err != nil {
		return nova.Result{}, err
	}
	if err := h.waitLog(ctx, &p.Target, wait); err != nil {
		return nova.Result{}, err
	}
	result, waits, err := h.deliver(p)
	if err != nil {
		return nova.Result{}, err
	}
	state.published.Add(1)
	h.trace.published(ctx, state, p, h.options.Tracer)
	if c := h.cluster.Load(); c != nil {
		err = (*c).Publish(ctx, *p)
	}
	if len(waits) > 0 {
		offset, failed := h.waitDurable(ctx, waits)
		if result.Offset = offset; failed != nil {
			err = failed
		}
	}
	return result, err
}

func (h *Hub) waitSpace(ctx context.Context, wait bool) error {
	if err := ctx.Err(); err != nil {
		return nova.Errorf(nova.CodeOf(err), "publish: %w", err)
	}
	for _, sh := range h.shards {
		if err := sh.waitSpace(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// checkPublication refuses all that can be refused before the first delivery.
func (h *Hub) checkPublication(p *nova.Publication) (*eventState, error) {
	if p.Event == nil {
		return nil, nova.Errorf(nova.Invalid, "publish without an event")
	}
	state := h.events[p.Event.ID]
	if state == nil || state.event.Name != p.Event.Name {
		return nil, nova.Errorf(nova.Invalid, "schema %s has no event %q", h.options.Schema.Name(), p.Event.Name)
	}
	p.Event = state.event
	head, _, err := wire.ParseFrame(p.Frame)
	switch {
	case err != nil:
		return nil, nova.Errorf(nova.Invalid, "%s: %w", p.Event.Name, err)
	case head.ID != p.Event.ID || head.Seq != 0 || head.Trailer:
		return nil, nova.Errorf(nova.Invalid, "%s: the frame is not an unnumbered one of this event", p.Event.Name)
	case len(p.Frame)+ws.HeaderSize(len(p.Frame)) > h.options.Backpressure.MaxBytes:
		return nil, nova.Errorf(nova.Invalid, "%s: %d bytes, more than Backpressure.MaxBytes (%d) lets any client queue",
			p.Event.Name, len(p.Frame), h.options.Backpressure.MaxBytes)
	}
	if p.Unsafe != nil {
		if err := h.guardInt64(state, p.Unsafe); err != nil {
			return nil, err
		}
	}
	return state, h.checkTarget(&p.Target)
}

func (h *Hub) checkTarget(t *nova.Target) error {
	switch t.Kind {
	case nova.ToBroadcast:
		return nil
	case nova.ToTopics:
		for _, name := range t.Names {
			if err := h.options.checkName("topic", name); err != nil {
				return err
			}
		}
		return nil
	case nova.ToTopic:
		return h.options.checkName("topic", t.Name)
	case nova.ToGroup:
		return h.options.checkName("group", t.Name)
	case nova.ToUser:
		return h.options.checkName("user", t.Name)
	case nova.ToUserGroup:
		return h.options.checkName("user group", t.Name)
	case nova.ToClient:
		return h.options.checkName("client", t.Name)
	}
	return nova.Errorf(nova.Invalid, "target kind %d is unknown", t.Kind)
}

// deliver hands a checked publication to the sessions of this node.
func (h *Hub) deliver(p *nova.Publication) (nova.Result, []<-chan appended, error) {
	h.lifeMu.RLock()
	defer h.lifeMu.RUnlock()
	if h.closed {
		return nova.Result{}, nil, errClosed
	}
	var out outgoing // filled in place: a literal would be copied, after a stall
	out.event, out.frame, out.except, out.durable = p.Event, p.Frame, p.Target.Except, p.Durable
	out.packing = &h.packing
	result := h.reach(&p.Target, &out)
	return result, out.waits, nil
}

func (h *Hub) reach(to *nova.Target, out *outgoing) nova.Result {
	switch to.Kind {
	case nova.ToTopic:
		return h.toTopic(out, to.Name)
	case nova.ToTopics:
		return h.toTopics(out, to.Names)
	case nova.ToGroup:
		return nova.Result{Members: h.toRoom(h.groups.lock(to.Name, nil), out)}
	case nova.ToUser:
		return nova.Result{Members: h.toRoom(h.users.lock(to.Name, nil), out)}
	case nova.ToUserGroup:
		members := 0
		for _, user := range h.userGroups.members(to.Name) {
			members += h.toRoom(h.users.lock(user, nil), out)
		}
		return nova.Result{Members: members}
	case nova.ToClient:
		s := h.session(to.Name)
		if s == nil || s.id == out.except {
			return nova.Result{}
		}
		s.shard.put(item{kind: itemDirect, member: &s.everyone, frame: out.get()})
		return nova.Result{Members: 1}
	}
	h.everyone.mu.Lock()
	return nova.Result{Members: h.toRoom(h.everyone, out)}
}

// outgoing is a publication on its way. Its frame is copied once, and only when
// someone gets it or a history keeps it.
type outgoing struct {
	packing *atomic.Pointer[packing]
	event   *wire.Event
	frame   []byte
	except  string
	copied  session.Frame
	done    bool

	durable bool
	waits   []<-chan appended // of a durable one: a topic's log each
}

func (o *outgoing) get() session.Frame {
	if !o.done {
		o.copied, o.done = o.packing.Load().frame(o.event, o.frame), true
	}
	return o.copied
}

// toRoom hands a frame to the shards that have members of r, which is locked or
// nil, unlocks it, and returns the number of members addressed.
func (h *Hub) toRoom(r *room, out *outgoing) int {
	if r == nil {
		return 0
	}
	defer r.mu.Unlock()
	if r.members == 0 {
		return 0
	}
	f := out.get()
	f.Target = r.id
	return h.spread(r, f, out.except)
}

func (h *Hub) spread(r *room, f session.Frame, except string) int {
	for i := range r.shards {
		if r.shards[i].count > 0 {
			h.shards[i].put(item{kind: itemPublish, room: r, frame: f, except: except})
		}
	}
	members := r.members
	if except != "" {
		if s := h.session(except); s != nil && s.in(r) {
			members--
		}
	}
	return members
}

func (h *Hub) toTopic(out *outgoing, name string) nova.Result {
	rule := h.ruleFor(name)
	if out.event.Retain == wire.RetainNone || rule.Size == 0 {
		r := h.topics.lock(name, nil)
		if r != nil && rule.Log && r.topic.log.busy {
			defer r.mu.Unlock()
			return h.toLog(r, out, true) // behind what was published before
		}
		return nova.Result{Members: h.toRoom(r, out)}
	}
	if rule.Log {
		r := h.topics.lock(name, h.makeTopic)
		defer r.mu.Unlock()
		return h.toLog(r, out, false)
	}
	f := out.get()
	var key string
	if out.event.Retain == wire.RetainLatest {
		key = eventKey(h.layout, out.event, f.Wire()[wire.HeaderLen:])
	}
	r := h.topics.lock(name, h.makeTopic)
	defer r.mu.Unlock()
	f.Target = r.id
	now := h.options.Clock()
	grown := r.topic.record(&f, out.except, key, now)
	r.topic.used = now
	h.metrics.historyBytes.Add(int64(grown))
	if grown > 0 {
		h.checkTotals()
	}
	return nova.Result{Offset: r.topic.head, Members: h.spread(r, f, out.except)}
}

func (h *Hub) makeTopic(r *room) { r.topic = newTopic(r.name, h.ruleOf(r.name), h.options.Clock()) }

// toTopics publishes one frame to several topics, each once. The result has no
// offset: each topic gave its own.
func (h *Hub) toTopics(out *outgoing, names []string) nova.Result {
	var result nova.Result
	done := make(map[string]bool, len(names))
	for _, name := range names {
		if !done[name] {
			done[name] = true
			result.Members += h.toTopic(out, name).Members
		}
	}
	return result
}
