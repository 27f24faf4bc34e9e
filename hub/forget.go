package hub

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

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
	if h.overHistory() {
		h.shorten()
	}
}

// shorten has the topics that take most memory, with members as they are, give up the
// older half of what they keep, until there is some room again.
func (h *Hub) shorten() {
	type used struct {
		room   *room
		weight int
	}
	enough := int64(h.options.History.TotalBytes) / 8 * 7
	for found := true; found; {
		found = false
		var list []used
		for _, r := range h.topics.all() {
			r.mu.Lock()
			if r.topic.weight > 0 {
				list = append(list, used{r, r.topic.weight})
			}
			r.mu.Unlock()
		}
		slices.SortFunc(list, func(a, b used) int { return cmp.Or(b.weight-a.weight, cmp.Compare(a.room.id, b.room.id)) })
		for _, it := range list {
			if h.metrics.historyBytes.Load() <= enough {
				return
			}
			it.room.mu.Lock()
			if !it.room.gone {
				h.metrics.historyBytes.Add(int64(it.room.topic.halve()))
				found = true
			}
			it.room.mu.Unlock()
		}
	}
}

// halve gives up the older half of the frames kept. It returns by how many bytes the
// memory of the history grew: never more than 0.
func (t *topic) halve() int {
	before := t.weight
	for range (t.count + 1) / 2 {
		t.pop()
	}
	slots := cap(t.ring)
	ring := make([]kept, t.count)
	for i := range ring {
		ring[i] = *t.at(i)
	}
	t.ring, t.first = ring, 0
	t.weight += slotCost * (cap(t.ring) - slots)
	offsets := make([]uint64, 0, len(t.latest))
	for _, f := range t.latest {
		offsets = append(offsets, f.Offset)
	}
	slices.Sort(offsets)
	latest := make(map[string]kept, len(offsets)/2)
	for key, f := range t.latest {
		if f.Offset >= offsets[len(offsets)/2] && len(offsets) > 1 {
			latest[key] = f
			continue
		}
		t.sumLatest(&f, key, -1)
		t.lose(f.Offset)
	}
	if t.latest = latest; len(latest) == 0 {
		t.latest = nil
	}
	return t.weight - before
}

func (h *Hub) overHistory() bool {
	return h.metrics.historyBytes.Load() > int64(h.options.History.TotalBytes)
}

func (h *Hub) overTotals() bool {
	return h.topics.len() > h.options.History.MaxTopics || h.overHistory()
}

// dropTopic forgets a topic. The caller holds r.mu.
func (h *Hub) dropTopic(r *room) {
	if l := r.topic.log; l != nil && l.degraded {
		h.logging.newGeneration() // nobody else knows that frames are missing
	}
	h.metrics.historyBytes.Add(-int64(r.topic.weight))
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
