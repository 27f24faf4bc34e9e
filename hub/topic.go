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
	epoch string // random, drawn whenever the counter starts
	ref   uint64 // names topic and epoch in trailers
	head  uint64 // the offset given last
	lost  uint64 // the highest offset that cannot be given any more
	used  time.Time

	ring   []kept // circular, at most History.Size
	first  int
	bytes  int
	latest map[string]kept
	whole  []*session.Batch // everything kept, for joins; nil = to be made
}

// kept is a frame of the history with the client that must never get it.
type kept struct {
	session.Frame
	except string
}

func newTopic(name string, now time.Time) *topic {
	var random [12]byte
	rand.Read(random[:])
	epoch := base64.RawURLEncoding.EncodeToString(random[:])
	return &topic{epoch: epoch, ref: topicRef(epoch, name), used: now}
}

// topicRef is the same on every node (docs/protocol.md, "Topic positions").
func topicRef(epoch, name string) uint64 {
	sum := sha256.Sum256(append(append([]byte(epoch), 0), name...))
	return binary.LittleEndian.Uint64(sum[:])
}

// record gives the frame an offset and keeps it. It returns by how many bytes
// the history grew.
func (t *topic) record(f *session.Frame, except string, size int, key string) int {
	before := t.bytes
	t.head++
	f.Ref, f.Offset = t.ref, t.head
	t.whole = nil
	t.bytes += f.Size()
	if f.Event.Retain == wire.RetainLatest && key != "" {
		t.recordLatest(kept{*f, except}, key)
		return t.bytes - before
	}
	if len(t.ring) < size {
		t.ring = append(t.ring, kept{*f, except})
		return t.bytes - before
	}
	old := &t.ring[t.first]
	t.bytes -= old.Size()
	t.lost = max(t.lost, old.Offset)
	*old = kept{*f, except}
	t.first = (t.first + 1) % len(t.ring)
	return t.bytes - before
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
	frames := make([]session.Frame, 0, len(t.ring)+len(t.latest))
	for i := range t.ring {
		if f := &t.ring[(t.first+i)%len(t.ring)]; f.Offset > n && (f.except == "" || f.except != client) {
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
	for i := range t.ring {
		if t.ring[i].except == client {
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
		if r.members == 0 && !r.gone {
			list = append(list, idle{r, r.topic.used})
		}
		r.mu.Unlock()
	}
	sort.Slice(list, func(i, j int) bool { return list[i].used.Before(list[j].used) })
	now := h.options.Clock()
	for _, it := range list {
		old := now.Sub(it.used) >= h.options.History.Idle
		if !old && !h.overTotals() {
			return
		}
		r := it.room
		r.mu.Lock()
		if r.members == 0 && !r.gone && r.topic.used.Equal(it.used) {
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
