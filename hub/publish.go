package hub

import (
	"context"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// PublishFrame implements nova.Hub.
func (h *Hub) PublishFrame(ctx context.Context, p nova.Publication) (nova.Result, error) {
	return h.publish(ctx, p, true)
}

// TryPublishFrame is PublishFrame that does not wait for room: it returns an
// error with code Exhausted instead.
func (h *Hub) TryPublishFrame(ctx context.Context, p nova.Publication) (nova.Result, error) {
	return h.publish(ctx, p, false)
}

func (h *Hub) publish(ctx context.Context, p nova.Publication, wait bool) (result nova.Result, err error) {
	state, err := h.checkPublication(&p)
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
	result, err = h.deliver(p)
	if err != nil {
		return nova.Result{}, err
	}
	state.published.Add(1)
	if c := h.cluster.Load(); c != nil {
		err = (*c).Publish(ctx, p)
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
		switch h.options.Int64Guard {
		case GuardRefuse:
			return nil, nova.Errorf(nova.Invalid, "%s: %w", p.Event.Name, p.Unsafe)
		case GuardWarn:
			if !state.warned.Swap(true) {
				h.options.Logger.Warn("a published integer will change in browsers (logged once per event)",
					"event", p.Event.Name, "error", p.Unsafe)
			}
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
func (h *Hub) deliver(p nova.Publication) (nova.Result, error) {
	h.lifeMu.RLock()
	defer h.lifeMu.RUnlock()
	if h.closed {
		return nova.Result{}, errClosed
	}
	out := outgoing{event: p.Event, frame: p.Frame, except: p.Target.Except}
	switch p.Target.Kind {
	case nova.ToTopic:
		return h.toTopic(&out, p.Target.Name), nil
	case nova.ToTopics:
		return h.toTopics(&out, p.Target.Names), nil
	case nova.ToGroup:
		return nova.Result{Members: h.toRoom(h.groups.lock(p.Target.Name, nil), &out)}, nil
	case nova.ToUser:
		return nova.Result{Members: h.toRoom(h.users.lock(p.Target.Name, nil), &out)}, nil
	case nova.ToUserGroup:
		members := 0
		for _, user := range h.userGroups.members(p.Target.Name) {
			members += h.toRoom(h.users.lock(user, nil), &out)
		}
		return nova.Result{Members: members}, nil
	case nova.ToClient:
		s := h.session(p.Target.Name)
		if s == nil || s.id == out.except {
			return nova.Result{}, nil
		}
		s.shard.put(item{kind: itemDirect, member: &s.everyone, frame: out.get()})
		return nova.Result{Members: 1}, nil
	}
	h.everyone.mu.Lock()
	return nova.Result{Members: h.toRoom(h.everyone, &out)}, nil
}

// outgoing is a publication on its way. Its frame is copied once, and only when
// someone gets it or a history keeps it.
type outgoing struct {
	event  *wire.Event
	frame  []byte
	except string
	copied session.Frame
	done   bool
}

func (o *outgoing) get() session.Frame {
	if !o.done {
		o.copied, o.done = session.NewFrame(o.event, o.frame), true
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
	if out.event.Retain == wire.RetainNone || h.options.History.Size == 0 {
		return nova.Result{Members: h.toRoom(h.topics.lock(name, nil), out)}
	}
	f := out.get()
	var key string
	if out.event.Retain == wire.RetainLatest {
		key = eventKey(h.layout, out.event, f.Wire()[wire.HeaderLen:])
	}
	r := h.topics.lock(name, h.makeTopic)
	defer r.mu.Unlock()
	f.Target = r.id
	grown := r.topic.record(&f, out.except, h.options.History.Size, key)
	r.topic.used = h.options.Clock()
	h.metrics.historyBytes.Add(int64(grown))
	if grown > 0 {
		h.checkTotals()
	}
	return nova.Result{Offset: r.topic.head, Members: h.spread(r, f, out.except)}
}

func (h *Hub) makeTopic(r *room) { r.topic = newTopic(r.name, h.options.Clock()) }

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
