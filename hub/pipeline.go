package hub

import (
	"context"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/topiclog"
)

// The bounds of one append.
const (
	appendFrames = 256
	appendBytes  = 1 << 20
)

// The pauses between attempts to reach a log.
const (
	firstPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// pipeline brings the frames of one topic into the log and then to its members,
// until none is left. It is the only one that changes the topic's history.
func (h *Hub) pipeline(r *room) {
	ctx, pause := h.ctx, firstPause
	since := time.Now() // the log does not answer
	for {
		r.mu.Lock()
		l := r.topic.log
		batch := l.next()
		if len(batch) == 0 && (l.ready || r.unwanted()) {
			h.rest(r)
			r.mu.Unlock()
			return
		}
		ready := l.ready
		if l.giveUp == nil {
			ctx = h.ctx
		}
		if !ready && l.giveUp == nil {
			ctx, l.giveUp = context.WithCancel(h.ctx)
		}
		h.passBy(r) // while the log is away
		r.mu.Unlock()
		var err error
		switch {
		case !ready:
			err = h.load(ctx, r)
		case batch[0].unkept:
			r.mu.Lock()
			h.handOut(r, batch[:1], nil)
			r.mu.Unlock()
		default:
			err = h.appendBatch(r, batch)
		}
		if err == nil {
			pause, since = firstPause, time.Now()
			continue
		}
		if !h.setback(ctx, r, err, since, pause) {
			return
		}
		pause = min(2*pause, mostPause)
	}
}

// next returns the frames of the next append: the first alone when the log does
// not keep it. The caller holds the room's lock.
func (l *logged) next() []appending {
	bytes := 0
	for i := range l.queue {
		a := &l.queue[i]
		bytes += a.frame.Size()
		if i > 0 && (a.unkept || l.queue[0].unkept || bytes > appendBytes || i >= appendFrames) {
			return l.queue[:i:i]
		}
	}
	return l.queue
}

// rest lets the pipeline end; the next publish or subscribe starts it again. The caller holds the room's lock.
func (h *Hub) rest(r *room) {
	l := r.topic.log
	l.busy, l.queue = false, nil
	l.stopAsking()
	if !l.ready {
		l.away = false // the next one asks the log again
	}
	if r.members == 0 && r.topic.joining == 0 && r.topic.head == 0 && !r.gone {
		h.dropTopic(r)
	}
}

// unwanted reports whether nobody waits for the topic's place in its log. The caller
// holds the room's lock.
func (r *room) unwanted() bool {
	return len(r.topic.log.waiting) == 0 && r.members == 0 && r.topic.joining == 0
}

// abandoned ends the pipeline of a topic nobody wants any more, whatever it waits
// for: else a client could have any number of them by asking for ever new topics. The
// caller holds the room's lock.
func (r *room) abandoned() {
	if l := r.topic.log; l != nil && !l.ready && len(l.queue) == 0 && r.unwanted() {
		l.stopAsking()
	}
}

func (l *logged) stopAsking() {
	if l.giveUp != nil {
		l.giveUp()
		l.giveUp = nil
	}
}

// setback notes that the log failed, waits a little unless ctx ends, and reports
// whether to go on.
func (h *Hub) setback(ctx context.Context, r *room, cause error, since time.Time, pause time.Duration) bool {
	select {
	case <-h.logging.closing:
	case <-ctx.Done():
	case <-time.After(pause):
	}
	closing := false
	select {
	case <-h.logging.closing:
		closing = true
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.topic.log
	if time.Since(since) >= h.options.LogWait && !l.away || closing {
		if !l.away {
			h.options.Logger.Error("the topic log does not answer", "topic", r.name, "error", cause)
		}
		l.away, l.ready = true, false
		h.passBy(r)
		h.wakeWaiting(l)
	}
	if !closing {
		return true
	}
	for _, a := range l.queue { // held to the end
		h.logging.freed(a.weight())
		a.outcome(0, nova.Errorf(nova.Unavailable, "the hub was closed before the log took the event: %w", cause))
	}
	if len(l.queue) > 0 {
		h.options.Logger.Error("frames were not logged", "topic", r.name, "frames", len(l.queue))
	}
	h.rest(r)
	return false
}

func (h *Hub) wakeWaiting(l *logged) {
	for s := range l.waiting {
		h.catching.wake(s)
	}
	clear(l.waiting)
}

func (a *appending) outcome(offset uint64, err error) {
	if a.appended != nil {
		a.appended <- appended{offset, err}
	}
}

// passBy delivers without position what the log does not take, if the rule says
// so. The caller holds the room's lock.
func (h *Hub) passBy(r *room) {
	l := r.topic.log
	if !l.away || r.topic.rule.LogPolicy == Hold {
		return
	}
	for len(l.queue) > 0 {
		l.degraded = l.degraded || !l.queue[0].unkept
		l.queue[0].outcome(0, nova.Errorf(nova.Unavailable, "the log does not answer: the event was delivered and is not kept"))
		h.handOut(r, l.queue[:1], nil)
	}
}

// handOut delivers the first frames of the queue, with the entries they have in
// the log; nil: they have none. The caller holds the room's lock.
func (h *Hub) handOut(r *room, batch []appending, entries []topiclog.Entry) {
	t := r.topic
	before, bytes := t.weight, 0
	for i := range batch {
		a := &batch[i]
		bytes += a.weight()
		f := a.frame
		if entries != nil {
			h.place(r, entries[i].Epoch, entries[i].Offset)
			t.head = entries[i].Offset
			f.Ref, f.Offset = t.ref, t.head
			t.push(kept{Frame: f, except: a.except})
			a.outcome(t.head, nil)
		}
		h.spread(r, f, a.except)
	}
	n := len(batch)
	clear(batch)
	if t.log.queue = t.log.queue[n:]; len(t.log.queue) == 0 {
		t.log.queue = nil
	}
	h.metrics.historyBytes.Add(int64(t.weight - before))
	h.logging.freed(bytes)
	h.checkTotals()
}

// place begins a new epoch when the log has one, or gives an offset again that
// was delivered. The caller holds the room's lock.
func (h *Hub) place(r *room, epoch string, offset uint64) {
	t := r.topic
	switch {
	case epoch != t.log.epoch:
		whole := t.log.epoch == "" && t.head == 0 && !t.log.degraded
		t.log.epoch, t.log.lost = epoch, 0
		h.changeEpoch(r, offset-1, whole)
	case offset <= t.head:
		h.logging.newGeneration()
		h.changeEpoch(r, offset-1, false)
	}
}

// changeEpoch empties the topic's memory, goes on behind head, and tells the
// members. whole: they have missed nothing. The caller holds the room's lock.
func (h *Hub) changeEpoch(r *room, head uint64, whole bool) {
	t := r.topic
	t.epoch = h.logging.epochOf(t.log.epoch)
	if t.log.epoch == "" {
		t.epoch = newEpoch() // of nothing
	}
	t.ref = topicRef(t.epoch, r.name)
	t.ring, t.first, t.count, t.latest, t.whole, t.bytes, t.weight = nil, 0, 0, nil, nil, 0, 0
	t.head, t.lost, t.evicted = head, head, head
	f := subscribedFrame(t, r.name, 0, head, whole, 0)
	for i := range r.shards {
		if r.shards[i].count > 0 {
			h.shards[i].put(item{kind: itemTell, room: r, frame: f})
		}
	}
}

// load learns the topic's place in the log.
func (h *Hub) load(ctx context.Context, r *room) error {
	ctx, cancel := context.WithTimeout(ctx, h.options.LogWait)
	defer cancel()
	select {
	case h.logging.heads <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	epoch, lost, head, err := h.options.Log.Head(ctx, r.name)
	<-h.logging.heads
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t, l := r.topic, r.topic.log
	before := t.weight
	same := epoch == l.epoch && head >= t.head && !l.degraded
	if l.asked && l.epoch == "" && t.head == 0 && len(l.queue) > 0 && !l.degraded {
		// It was empty: what it has now is the queue's, taken by attempts that seemed to
		// fail. The attempt that succeeds gives those frames their places.
		same, epoch = true, ""
	}
	l.asked = true
	if l.degraded || epoch == l.epoch && !same {
		h.logging.newGeneration()
	}
	l.ready, l.away, l.degraded = true, false, false
	l.epoch, l.lost = epoch, lost
	if !same {
		h.changeEpoch(r, head, false)
	}
	h.metrics.historyBytes.Add(int64(t.weight - before))
	h.wakeWaiting(l)
	return nil
}

// appendBatch appends the first frames of the queue and delivers them.
func (h *Hub) appendBatch(r *room, batch []appending) error {
	ctx, cancel := context.WithTimeout(h.ctx, h.options.LogWait)
	defer cancel()
	entries := make([]topiclog.Entry, len(batch)) // another for each attempt: the log may still hold the last
	for i := range batch {
		a := &batch[i]
		entries[i] = topiclog.Entry{Topic: r.name, ID: a.id, Except: a.except, Frame: a.frame.Wire()}
	}
	if err := appendTo(ctx, h.options.Log, entries); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h.handOut(r, batch, entries)
	return nil
}

// appendTo appends entries and sets their Epoch and Offset.
func appendTo(ctx context.Context, log topiclog.Log, entries []topiclog.Entry) error {
	if b, ok := log.(topiclog.Batcher); ok {
		return b.AppendAll(ctx, entries)
	}
	for i := range entries {
		e := &entries[i]
		var err error
		if e.Offset, err = log.Append(ctx, e.Topic, e.ID, e.Frame); err != nil {
			return err
		}
	}
	epoch, _, _, err := log.Head(ctx, entries[0].Topic)
	for i := range entries {
		entries[i].Epoch = epoch
	}
	return err
}

// syncLog makes what was appended safe, if the log knows how.
func (h *Hub) syncLog(ctx context.Context, unknown func(error) error) error {
	syncer, ok := h.options.Log.(topiclog.Syncer)
	if !ok {
		return nil
	}
	err := syncer.Sync(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return unknown(ctx.Err())
	}
	return nova.Errorf(nova.Unavailable, "the log has the event and could not sync it: %w", err)
}
