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
	bytes  int // of all frames kept
	weight int // their memory: counts in the total
	latest map[string]kept
	whole  []*session.Batch // everything kept, for joins; nil = to be made

	evicted uint64 // like lost, without what a newer value of its key replaced
	joining int    // sessions that catch up and are no members yet
	log     *logged
}

// What a frame of the history costs in memory besides Frame.Weight, on a 64-bit
// machine.
const (
	slotCost = 104 // a place in the ring
	keyCost  = 352 // a place in latest, besides the bytes of its key: maps grow by doubling
)

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
// the memory of the history grew.
func (t *topic) record(f *session.Frame, except, key string, now time.Time) int {
	before := t.weight
	t.expire(now)
	t.head++
	f.Ref, f.Offset = t.ref, t.head
	k := kept{Frame: *f, except: except}
	if t.rule.TTL > 0 {
		k.at = now.Sub(t.began)
	}
	if f.Event.Retain == wire.RetainLatest && key != "" {
		t.recordLatest(k, key)
	} else {
		t.push(k)
	}
	return t.weight - before
}

// sum adds a frame to the sums, or with −1 takes it out.
func (t *topic) sum(k *kept, sign int) {
	t.whole = nil
	t.bytes += sign * k.Size()
	t.weight += sign * k.Weight()
}

// sumLatest is sum for a frame in latest.
func (t *topic) sumLatest(k *kept, key string, sign int) {
	t.sum(k, sign)
	t.weight += sign * (len(key) + keyCost)
}

// push adds a frame to the ring; over its size the oldest goes.
func (t *topic) push(k kept) {
	t.sum(&k, 1)
	if t.count == t.rule.Size {
		t.pop()
	}
	if t.count == len(t.ring) { // it has never been full
		slots := cap(t.ring)
		if t.first > 0 {
			t.ring, t.first = slices.Concat(t.ring[t.first:], t.ring[:t.first]), 0
		}
		t.ring = append(t.ring, k)
		t.weight += slotCost * (cap(t.ring) - slots)
	} else {
		t.ring[(t.first+t.count)%len(t.ring)] = k
	}
	t.count++
}

// pop gives up the oldest frame of the ring.
func (t *topic) pop() {
	old := &t.ring[t.first]
	t.sum(old, -1)
	t.lose(old.Offset)
	*old = kept{}
	t.first = (t.first + 1) % len(t.ring)
	t.count--
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
	before, limit := t.weight, now.Sub(t.began)-t.rule.TTL
	for t.count > 0 && t.at(0).at <= limit {
		t.pop()
	}
	for key, old := range t.latest {
		if old.at <= limit {
			t.sumLatest(&old, key, -1)
			t.lose(old.Offset)
			delete(t.latest, key)
		}
	}
	if len(t.latest) == 0 {
		t.latest = nil // a map keeps its memory
	}
	return t.weight - before
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
	t.sumLatest(&f, key, 1)
	if t.latest == nil {
		t.latest = map[string]kept{}
	}
	gone := key
	old, ok := t.latest[key]
	if !ok && len(t.latest) >= maxLatest {
		oldest := uint64(1 << 63)
		for k, v := range t.latest {
			if v.Offset < oldest {
				gone, oldest = k, v.Offset
			}
		}
		old, ok = t.latest[gone], true
		t.evicted = max(t.evicted, old.Offset)
		delete(t.latest, gone)
	}
	if ok {
		t.sumLatest(&old, gone, -1)
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
