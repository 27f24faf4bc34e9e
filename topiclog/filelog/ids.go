package filelog

// ids remembers the newest emit ids, so that a repeated append is known.
type ids struct {
	known map[idKey]idValue
	ring  []idKey // oldest at next, once full
	next  int
}

type idKey struct {
	topic *topic
	id    string
}

type idValue struct {
	offset uint64
	batch  *batch // that writes it; only looked at while offset > head
	slot   int
}

func newIDs(window int) *ids {
	return &ids{known: map[idKey]idValue{}, ring: make([]idKey, max(window, 0))}
}

func (x *ids) get(t *topic, id string) (idValue, bool) {
	v, ok := x.known[idKey{t, id}]
	return v, ok
}

func (x *ids) put(t *topic, id string, offset uint64, b *batch) {
	if len(x.ring) == 0 {
		return
	}
	x.evict(x.next)
	k := idKey{t, id}
	x.ring[x.next] = k
	x.known[k] = idValue{offset: offset, batch: b, slot: x.next}
	x.next = (x.next + 1) % len(x.ring)
}

// evict empties a slot. A key that was removed and put again has another slot.
func (x *ids) evict(slot int) {
	k := x.ring[slot]
	if v, ok := x.known[k]; ok && v.slot == slot {
		delete(x.known, k)
	}
	x.ring[slot] = idKey{}
}

// settle lets go of the batch once it is written.
func (x *ids) settle(t *topic, id string) {
	k := idKey{t, id}
	if v, ok := x.known[k]; ok {
		v.batch = nil
		x.known[k] = v
	}
}

// remove forgets the id of an append that failed.
func (x *ids) remove(t *topic, id string) { delete(x.known, idKey{t, id}) }
