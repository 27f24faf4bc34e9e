package hub

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sort"
	"time"

	"github.com/ignex/nova/session"
	"github.com/ignex/nova/wire"
)

// maxLatest bounds the keys for which one topic keeps the newest frame.
const maxLatest = 10_000

// topic is the history of one topic, under the lock of its room.
//
// Invariant: every frame kept has lost < offset ≤ head, unless it is the newest
// of its key; frames are in the order of offsets.
type topic struct {
	rule  *rule  // never changes
	epoch string // random, drawn whenever the counter starts
	ref   uint64 // names topic and epoch in trailers
	head  uint64 // the offset given last
	lost  uint64 // the highest offset that cannot be given any more
	used  time.Time
	began time.Time // what ages count from: a clock that is set changes none

	ring   []kept // circular, at most rule.Size
	first  int
	count  int
	bytes  int
	latest map[string]kept
	whole  []*session.Batch // everything kept, for joins; nil = to be made

	evicted uint64 // like lost, without what a newer value of its key replaced
	joining int    // sessions that catch up and are no members yet
	log     *logged
}

// kept is a frame of the history with the client that must never get it.
type kept struct {
	session.Frame
	except string
	at     time.Duration // of the topic, when it was published; only with a TTL
}

func newTopic(name string, rule *rule, now time.Time) *topic {
	epoch := newEpoch()
	t := &topic{rule: rule, epoch: epoch, ref: topicRef(epoch, name), used: now, began: now}
	if rule.Log {
		t.log = &logged{}
	}
	return t
}

func newEpoch() string {
	var random [12]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// unused reports whether nobody catches up and nothing is on the way to the log.
func (t *topic) unused() bool { return t.joining == 0 && (t.log == nil || !t.log.busy) }

// topicRef is the same on every node (docs/protocol.md, "Topic positions").
func topicRef(epoch, name string) uint64 {
	sum := sha256.Sum256(append(append([]byte(epoch), 0), name...))
	return binary.LittleEndian.Uint64(sum[:])
}

// record gives the frame an offset and keeps it. It returns by how many bytes
// the history grew.
func (t *topic) record(f *session.Frame, except, key string, now time.Time) int {
	before := t.bytes
	t.expire(now)
	t.head++
	f.Ref, f.Offset = t.ref, t.head
	k := kept{Frame: *f, except: except}
	if t.rule.TTL > 0 {
		k.at = now.Sub(t.began)
	}
	if f.Event.Retain == wire.RetainLatest && key != "" {
		t.whole = nil
		t.bytes += f.Size()
		t.recordLatest(k, key)
	} else {
		t.push(k)
	}
	return t.bytes - before
}

// push adds a frame to the ring; over its size the oldest goes.
func (t *topic) push(k kept) {
	t.whole = nil
	t.bytes += k.Size()
	if t.count == t.rule.Size {
		t.pop()
	}
	if t.count == len(t.ring) { // it has never been full
		if t.first > 0 {
			t.ring, t.first = slices.Concat(t.ring[t.first:], t.ring[:t.first]), 0
		}
		t.ring = append(t.ring, k)
	} else {
		t.ring[(t.first+t.count)%len(t.ring)] = k
	}
	t.count++
}

// pop gives up the oldest frame of the ring.
func (t *topic) pop() {
	old := &t.ring[t.first]
	t.bytes -= old.Size()
	t.lose(old.Offset)
	*old = kept{}
	t.first = (t.first + 1) % len(t.ring)
	t.count--
	t.whole = nil
}

func (t *topic) lose(offset uint64) {
	t.lost, t.evicted = max(t.lost, offset), max(t.evicted, offset)
}

// at returns frame i of the ring, the oldest first.
func (t *topic) at(i int) *kept { return &t.ring[(t.first+i)%len(t.ring)] }

// expire gives up what is older than the rule's TTL. It returns by how many bytes
// the history grew: never more than 0.
func (t *topic) expire(now time.Time) int {
	if t.rule.TTL == 0 {
		return 0
	}
	before, limit := t.bytes, now.Sub(t.began)-t.rule.TTL
	for t.count > 0 && t.at(0).at <= limit {
		t.pop()
	}
	for key, old := range t.latest {
		if old.at <= limit {
			t.bytes -= old.Size()
			t.lose(old.Offset)
			t.whole = nil
			delete(t.latest, key)
		}
	}
	return t.bytes - before
}

// page returns the offsets' next frames behind n, at most limit, each with the
// client that must not get it.
func (t *topic) page(n uint64, limit int) []kept {
	first := sort.Search(t.count, func(i int) bool { return t.at(i).Offset > n })
	frames := make([]kept, 0, min(limit, t.count-first+len(t.latest)))
	if len(t.latest) == 0 {
		for i := first; i < t.count && len(frames) < limit; i++ {
			frames = append(frames, *t.at(i))
		}
		return frames
	}
	for i := first; i < t.count; i++ {
		frames = append(frames, *t.at(i))
	}
	for _, f := range t.latest {
		if f.Offset > n {
			frames = append(frames, f)
		}
	}
	sort.Slice(frames, func(i, j int) bool { return frames[i].Offset < frames[j].Offset })
	return frames[:min(len(frames), limit)]
}

func (t *topic) recordLatest(f kept, key string) {
	if t.latest == nil {
		t.latest = map[string]kept{}
	}
	old, ok := t.latest[key]
	if !ok && len(t.latest) >= maxLatest {
		key2, oldest := "", uint64(1<<63)
		for k, v := range t.latest {
			if v.Offset < oldest {
				key2, oldest = k, v.Offset
			}
		}
		old, ok = t.latest[key2], true
		t.evicted = max(t.evicted, old.Offset)
		delete(t.latest, key2)
	}
	if ok {
		t.bytes -= old.Size()
		t.lost = max(t.lost, old.Offset)
	}
	t.latest[key] = f
}

// after returns the frames kept for client whose offset is above n, in order.
func (t *topic) after(n uint64, client string) []session.Frame {
	frames := make([]session.Frame, 0, t.count+len(t.latest))
	for i := range t.count {
		if f := t.at(i); f.Offset > n && (f.except == "" || f.except != client) {
			frames = append(frames, f.Frame)
		}
	}
	if len(t.latest) == 0 {
		return frames
	}
	for _, f := range t.latest {
		if f.Offset > n && (f.except == "" || f.except != client) {
			frames = append(frames, f.Frame)
		}
	}
	sort.Slice(frames, func(i, j int) bool { return frames[i].Offset < frames[j].Offset })
	return frames
}

// all returns everything kept as batches that newcomers share, unless some of
// it is not for this client.
func (t *topic) all(client string) []*session.Batch {
	for i := range t.count {
		if t.at(i).except == client {
			return batches(t.after(0, client))
		}
	}
	for _, f := range t.latest {
		if f.except == client {
			return batches(t.after(0, client))
		}
	}
	if t.whole == nil && t.bytes > 0 {
		t.whole = batches(t.after(0, ""))
	}
	return t.whole
}

// batches cuts frames into batches. It takes the slice over.
func batches(frames []session.Frame) []*session.Batch {
	var list []*session.Batch
	for part := range slices.Chunk(frames, session.MaxBatch) {
		list = append(list, session.NewBatch(part))
	}
	return list
}

// forget gives up topics without members that nobody published to for a while,
// and over the totals those that were idle longest.
func (h *Hub) forget() {
	type idle struct {
		room *room
		used time.Time
	}
	var list []idle
	for _, r := range h.topics.all() {
		r.mu.Lock()
		if r.members == 0 && r.topic.unused() && !r.gone {
			list = append(list, idle{r, r.topic.used})
		}
		r.mu.Unlock()
	}
	sort.Slice(list, func(i, j int) bool { // the older topic first of two that were left together
		if list[i].used.Equal(list[j].used) {
			return list[i].room.id < list[j].room.id
		}
		return list[i].used.Before(list[j].used)
	})
	now := h.options.Clock()
	for _, it := range list {
		old := now.Sub(it.used) >= h.options.History.Idle
		if !old && !h.overTotals() {
			return
		}
		r := it.room
		r.mu.Lock()
		if r.members == 0 && r.topic.unused() && !r.gone && r.topic.used.Equal(it.used) {
			h.dropTopic(r)
		}
		r.mu.Unlock()
	}
}

func (h *Hub) overTotals() bool {
	return h.topics.len() > h.options.History.MaxTopics ||
		h.metrics.historyBytes.Load() > int64(h.options.History.TotalBytes)
}

// dropTopic forgets a topic. The caller holds r.mu.
func (h *Hub) dropTopic(r *room) {
	if l := r.topic.log; l != nil && l.degraded {
		h.logging.newGeneration() // nobody else knows that frames are missing
	}
	h.metrics.historyBytes.Add(-int64(r.topic.bytes))
	h.topics.drop(r)
}

// checkTotals wakes the janitor when a total is exceeded.
func (h *Hub) checkTotals() {
	if h.overTotals() {
		h.wakeJanitor()
	}
}

func (h *Hub) wakeJanitor() {
	select {
	case h.full <- struct{}{}:
	default:
	}
}
