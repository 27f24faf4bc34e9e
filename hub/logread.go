package hub

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/ignex/nova/session"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/wire"
)

// mostFails is the number of reads of the log that may fail before a catch-up
// goes on without what it has.
const mostFails = 6

// needsLog reports whether a cursor asks for more than the topic's memory has,
// and the log may have it.
func (t *topic) needsLog(req joinRequest) bool {
	if t.log == nil || !t.log.ready || req.offset < 0 || t.lost <= t.log.lost || t.count > req.limit {
		return false
	}
	after, _ := t.cursor(req)
	return after < t.lost
}

// explore answers a subscribe after a look at what the log has. The caller holds
// the room's lock, which it lets go of meanwhile. false: it comes back later.
func (h *Hub) explore(c *catchUp) bool {
	s, r := c.m.session, c.m.room
	t := r.topic
	req := s.wish(c.req, t)
	after, known := t.cursor(req)
	epoch, source, head := t.epoch, t.log.epoch, t.head
	r.mu.Unlock()
	found, err := h.survey(r.name, source, after, head, req.limit)
	r.mu.Lock()
	switch {
	case c.over || t.epoch != epoch:
		return true
	case err != nil:
		if !h.failed(c, err) {
			return false
		}
		found = survey{after: t.lost, lost: t.lost, count: t.count}
	default:
		c.fails = 0
		t.log.lost = max(t.log.lost, found.lost)
	}
	recovered := known && found.whole && found.lost <= after
	c.tell(max(found.after, min(found.lost, head)), recovered, found.count)
	return true
}

// failed counts a read that failed and has the session try again, or reports that
// this has no sense any more. The caller holds the room's lock.
func (h *Hub) failed(c *catchUp, err error) (giveUp bool) {
	r := c.m.room
	c.fails++
	if errors.Is(err, topiclog.ErrEpoch) && r.topic.log.ready && !r.topic.log.busy {
		r.topic.log.ready = false // the log began again
		h.wantLog(r, c.m.session)
	}
	if c.fails > mostFails {
		h.options.Logger.Error("the topic log cannot be read", "topic", r.name, "error", err)
		c.fails = 0
		return true
	}
	h.later(c.m.session, 20*time.Millisecond<<c.fails)
	return false
}

// survey is what the log has behind a cursor.
type survey struct {
	after uint64 // where the newest frames within the limit begin
	lost  uint64
	count int
	whole bool // they are all that follow the cursor
}

// survey looks for the newest frames behind after, at most limit, up to head.
// Offsets need not be dense, so their place is searched for.
func (h *Hub) survey(name, epoch string, after, head uint64, limit int) (survey, error) {
	count, lost, err := h.countBehind(name, epoch, after, head, limit)
	if err != nil || count <= limit {
		return survey{after, lost, count, true}, err
	}
	low, high, n := after, head, 0 // more than limit behind low, n ≤ limit behind high
	for try := 0; try < 24 && n < limit && high-low > 1; try++ {
		at := low + (high-low)/2
		if first := head - min(head, uint64(limit)); try == 0 && first > low {
			at = first // right when there are no holes
		}
		if count, lost, err = h.countBehind(name, epoch, at, head, limit); err != nil {
			return survey{}, err
		}
		if count > limit {
			low = at
		} else {
			high, n = at, count
		}
	}
	return survey{high, lost, n, false}, nil
}

// countBehind counts frames behind after up to head, as far as limit+1.
func (h *Hub) countBehind(name, epoch string, after, head uint64, limit int) (n int, lost uint64, err error) {
	ctx, cancel := context.WithTimeout(h.ctx, h.options.LogWait)
	defer cancel()
	if epoch == "" {
		return 0, 0, nil
	}
	for n <= limit && after < head {
		var page []topiclog.Entry
		page, lost, err = h.options.Log.Range(ctx, name, epoch, after, min(limit+1-n, 4*pageFrames))
		if err != nil || len(page) == 0 {
			return n, lost, err
		}
		for i := range page {
			if page[i].Offset <= head {
				n++
			}
		}
		after = page[len(page)-1].Offset
	}
	return n, lost, nil
}

// readPage reads what follows c.next from the log into c.rest. The caller holds
// the room's lock, which it lets go of meanwhile. false: it comes back later.
func (h *Hub) readPage(c *catchUp) bool {
	r := c.m.room
	t := r.topic
	key := pageKey{r, t.epoch, c.next, pageFrames}
	if c.each > 0 { // not more than the queue takes
		key.limit = min(pageFrames, max(4, h.options.Backpressure.MaxBytes/c.each))
	}
	source, ref := t.log.epoch, t.ref
	r.mu.Unlock()
	p := h.logPage(key, source, ref)
	r.mu.Lock()
	switch {
	case c.over || t.epoch != key.epoch:
		return true
	case p.err != nil:
		if !h.failed(c, p.err) {
			return false
		}
		c.gap(t.evicted, reasonLog)
		return true
	}
	c.fails = 0
	t.log.lost = max(t.log.lost, p.lost)
	frames := p.frames
	if len(frames) > 0 {
		_, bytes := fitting(frames, len(frames), math.MaxInt)
		c.each = bytes / len(frames)
	}
	for len(frames) > 0 && frames[len(frames)-1].Offset > t.head {
		frames = frames[:len(frames)-1] // its members do not have it yet either
	}
	if p.lost > c.next {
		to := min(p.lost, t.head)
		if len(frames) > 0 {
			to = min(to, frames[0].Offset-1)
		}
		c.gap(to, reasonLog)
	}
	switch {
	case len(frames) > 0:
		c.rest = frames
	case p.last > t.head || p.last == 0:
		c.next = max(c.next, t.evicted) // the log has nothing in between
	default:
		c.next = max(c.next, p.last) // of events that are not known any more
	}
	return true
}

// pageKey names a page of a log.
type pageKey struct {
	room  *room
	epoch string
	after uint64
	limit int // most frames
}

// pageRead is a read that several catch-ups share.
type pageRead struct {
	done   chan struct{}
	frames []kept
	last   uint64 // offset of the last entry, 0 = there was none
	lost   uint64
	err    error
}

// logPage reads a page, or waits for the one who does.
func (h *Hub) logPage(key pageKey, source string, ref uint64) *pageRead {
	l := &h.logging
	l.mu.Lock()
	p := l.reads[key]
	if p != nil {
		l.mu.Unlock()
		<-p.done
		return p
	}
	p = &pageRead{done: make(chan struct{})}
	if l.reads == nil {
		l.reads = map[pageKey]*pageRead{}
	}
	l.reads[key] = p
	l.mu.Unlock()
	p.frames, p.last, p.lost, p.err = h.fetch(key.room, source, ref, key.after, key.limit)
	l.mu.Lock()
	delete(l.reads, key)
	l.mu.Unlock()
	close(p.done)
	return p
}

// fetch reads frames behind after from the log.
func (h *Hub) fetch(r *room, source string, ref, after uint64, limit int) (frames []kept, last, lost uint64, err error) {
	ctx, cancel := context.WithTimeout(h.ctx, h.options.LogWait)
	defer cancel()
	entries, lost, err := h.options.Log.Range(ctx, r.name, source, after, limit)
	if err != nil {
		return nil, 0, 0, err
	}
	for i := range entries {
		e := &entries[i]
		last = e.Offset
		f, ok := h.loggedFrame(e)
		if !ok {
			continue
		}
		f.Ref, f.Offset, f.Target = ref, e.Offset, r.id
		frames = append(frames, kept{Frame: f, except: e.Except})
	}
	return frames, last, lost, nil
}

// loggedFrame makes a frame of an entry; false: the schema has no such event (any
// more), or no client could queue it.
func (h *Hub) loggedFrame(e *topiclog.Entry) (session.Frame, bool) {
	head, _, err := wire.ParseFrame(e.Frame)
	if err != nil || head.Seq != 0 || head.Trailer {
		return session.Frame{}, false
	}
	state := h.events[head.ID]
	if state == nil {
		return session.Frame{}, false
	}
	f := h.packing.Load().frame(state.event, e.Frame)
	return f, f.Size() <= h.options.Backpressure.MaxBytes
}

// logSnapshot returns the newest frames that the log of a topic has for a client,
// at most as many as one subscription brings.
func (h *Hub) logSnapshot(topic, client string) []session.Frame {
	ctx, cancel := context.WithTimeout(h.ctx, h.options.LogWait)
	defer cancel()
	entries, err := h.newestLogged(ctx, topic)
	if err != nil {
		h.options.Logger.Error("the topic log cannot be read", "topic", topic, "error", err)
	}
	frames := make([]session.Frame, 0, len(entries))
	var target uint64 // as if they had been published to the topic
	if r := h.topics.get(topic); r != nil {
		target = r.id
	} else {
		target = h.roomIDs.Add(1)
	}
	for i := range entries {
		if f, ok := h.loggedFrame(&entries[i]); ok && (entries[i].Except == "" || entries[i].Except != client) {
			f.Target = target
			frames = append(frames, f)
		}
	}
	return frames
}

func (h *Hub) newestLogged(ctx context.Context, topic string) ([]topiclog.Entry, error) {
	epoch, _, head, err := h.options.Log.Head(ctx, topic)
	if err != nil || epoch == "" {
		return nil, err
	}
	found, err := h.survey(topic, epoch, 0, head, defaultLimit)
	if err != nil {
		return nil, err
	}
	entries, _, err := h.options.Log.Range(ctx, topic, epoch, found.after, defaultLimit)
	return entries, err
}
