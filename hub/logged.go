package hub

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/session"
)

// logged is what a topic with a log has besides; guarded by the room's lock.
//
// Frames are appended in the order they were published, one batch at a time, and
// enter the topic's memory when the log has them. Ring, head and lost of the
// topic speak of what was delivered; lost here of what the log can give.
type logged struct {
	ready bool // epoch, lost and head are the log's
	asked bool // they were once
	// away: the log did not answer for LogWait. Joins get what memory has; the rule
	// says what happens to frames.
	away  bool
	epoch string // the log's own; the topic's has the generation behind it
	lost  uint64

	queue    []appending           // accepted, the log does not have them
	busy     bool                  // the pipeline is at work
	degraded bool                  // frames were delivered that the log does not have
	waiting  map[*Session]struct{} // that catch up and could not be answered
	giveUp   context.CancelFunc    // while the pipeline wants to know its place in the log
}

// answering reports whether joins can be answered.
func (l *logged) answering() bool { return l.ready || l.away }

// appending is a frame on its way into the log.
type appending struct {
	frame    session.Frame
	except   string
	id       string
	at       time.Time
	unkept   bool // has no place in the history, only in the order
	appended chan<- appended
}

// weight returns the bytes of memory that a frame on its way takes.
func (a *appending) weight() int { return a.frame.Weight() + itemCost }

// appended is the outcome for a durable publish.
type appended struct {
	offset uint64
	err    error
}

// logging is what the topics with a log have together.
type logging struct {
	base    string // of emit ids, another in each process
	ids     atomic.Uint64
	bytes   atomic.Int64  // of memory: accepted, not in the log
	closing chan struct{} // closed by Close
	heads   chan struct{} // a place for each topic whose head is being asked for
	running sync.WaitGroup

	mu         sync.Mutex
	space      chan struct{} // closed when bytes shrink; nil = nobody waits
	starts     []*room       // whose pipeline is to be started
	generation string        // behind the log's epochs; another once a log was passed by
	reads      map[pageKey]*pageRead
}

// headsAtOnce bounds the topics whose head is asked for at a time.
const headsAtOnce = 64

// nextID returns the id of an emit: with it an append can be repeated.
func (l *logging) nextID() string { return l.base + strconv.FormatUint(l.ids.Add(1), 36) }

func (l *logging) takeStarts() []*room {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.starts
	l.starts = nil
	return list
}

// epochOf returns the epoch that clients are told for one of the log's.
func (l *logging) epochOf(epoch string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return epoch + l.generation
}

func (l *logging) newGeneration() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation = "." + newEpoch()
}

// freed notes that n bytes are no longer on the way.
func (l *logging) freed(n int) {
	l.bytes.Add(-int64(n))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.space != nil {
		close(l.space)
		l.space = nil
	}
}

// wantLog sees to it that the topic learns its place in the log, and wakes the
// session then. The caller holds the room's lock.
func (h *Hub) wantLog(r *room, s *Session) {
	l := r.topic.log
	if l.waiting == nil {
		l.waiting = map[*Session]struct{}{}
	}
	l.waiting[s] = struct{}{}
	if l.busy {
		return
	}
	l.busy = true
	h.logging.mu.Lock()
	h.logging.starts = append(h.logging.starts, r)
	h.logging.mu.Unlock()
	select {
	case h.catching.ring <- struct{}{}:
	default:
	}
}

// startPipeline starts the pipeline of a topic that is marked busy. false: the
// hub is closed.
func (h *Hub) startPipeline(r *room) bool {
	h.lifeMu.RLock()
	defer h.lifeMu.RUnlock()
	if h.closed {
		return false
	}
	h.logging.running.Go(func() { h.pipeline(r) })
	return true
}

// ruleFor returns the rule of a topic, which need not exist.
func (h *Hub) ruleFor(name string) *rule {
	if len(h.rules) == 0 {
		return &h.anyTopic
	}
	if r := h.topics.get(name); r != nil {
		return r.topic.rule
	}
	return h.ruleOf(name)
}

// waitLog waits until frames for the logs of a target are accepted, or says why
// they are not.
func (h *Hub) waitLog(ctx context.Context, t *nova.Target, wait bool) error {
	if h.options.Log == nil || t.Kind != nova.ToTopic && t.Kind != nova.ToTopics {
		return nil
	}
	names := t.Names
	if t.Kind == nova.ToTopic {
		names = []string{t.Name}
	}
	uses := false
	for _, name := range names {
		rule := h.ruleFor(name)
		uses = uses || rule.Log
		if rule.Log && rule.LogPolicy == Hold && h.stuck(name) {
			return nova.Errorf(nova.Unavailable, "topic %q: the log has not taken a frame for %v", name, h.options.LogWait)
		}
	}
	for uses && h.logging.bytes.Load() >= int64(h.inboxBytes) {
		if !wait {
			return nova.Errorf(nova.Exhausted, "%d bytes wait for the log", h.inboxBytes)
		}
		l := &h.logging
		l.mu.Lock()
		if l.space == nil {
			l.space = make(chan struct{})
		}
		space := l.space
		l.mu.Unlock()
		if l.bytes.Load() < int64(h.inboxBytes) {
			break
		}
		select {
		case <-space:
		case <-ctx.Done():
			return nova.Errorf(nova.CodeOf(ctx.Err()), "waiting for the log: %w", ctx.Err())
		}
	}
	return nil
}

// stuck reports whether a frame of the topic has waited for the log too long.
func (h *Hub) stuck(name string) bool {
	r := h.topics.lock(name, nil)
	if r == nil {
		return false
	}
	defer r.mu.Unlock()
	l := r.topic.log
	return l != nil && len(l.queue) > 0 && time.Since(l.queue[0].at) >= h.options.LogWait
}

// toLog puts a frame into the pipeline of its topic. The caller holds r.mu, and
// h.lifeMu as every publish does.
func (h *Hub) toLog(r *room, out *outgoing, unkept bool) nova.Result {
	t := r.topic
	f := out.get()
	f.Target = r.id
	a := appending{frame: f, except: out.except, at: time.Now(), unkept: unkept}
	if !unkept {
		a.id = h.logging.nextID()
		if out.durable {
			c := make(chan appended, 1)
			a.appended = c
			out.waits = append(out.waits, c)
		}
	}
	t.used = h.options.Clock()
	t.log.queue = append(t.log.queue, a)
	h.logging.bytes.Add(int64(a.weight()))
	h.passBy(r)
	if !t.log.busy && len(t.log.queue) > 0 {
		t.log.busy = true
		h.logging.running.Go(func() { h.pipeline(r) })
	}
	members := r.members
	if out.except != "" {
		if s := h.session(out.except); s != nil && s.in(r) {
			members--
		}
	}
	return nova.Result{Members: members}
}

// waitDurable waits for the log to have a durable publish, and to have synced it.
func (h *Hub) waitDurable(ctx context.Context, waits []<-chan appended) (offset uint64, err error) {
	unknown := func(err error) error {
		return nova.Errorf(nova.CodeOf(err), "the publish was accepted; whether the log has it is not known yet: %w", err)
	}
	for _, wait := range waits {
		select {
		case a := <-wait:
			if a.err != nil {
				return 0, a.err
			}
			offset = a.offset
		case <-ctx.Done():
			return 0, unknown(ctx.Err())
		}
	}
	if len(waits) != 1 {
		offset = 0
	}
	return offset, h.syncLog(ctx, unknown)
}
