package hub

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ignex/nova"
)

// room is a target with members: everyone, a topic, a group or a user.
//
// Under mu stand the order of publishes, joins and leaves, and the counts. The
// member lists belong to the loops of their shards: whoever holds mu appends to
// a shard's inbox, and the loop changes its list when it gets there.
type room struct {
	kind nova.TargetKind
	name string
	id   uint64 // marks the frames published to it; never used again

	mu      sync.Mutex
	gone    bool // no longer in the directory; take a new one
	members int
	shards  []roomShard
	topic   *topic // history, for topics only
}

type roomShard struct {
	count int      // members by the order of mu
	list  []member // the loop's
}

// member is an entry of a shard's list: what a publish needs is here.
type member struct {
	session *Session
	of      *membership
}

// membership is one session in one room.
type membership struct {
	session *Session
	room    *room
	index   int32    // in the list of its shard, the loop's; −1 = not in it
	seed    bool     // by the identity; under the session's state
	catch   *catchUp // nil = it is live; under the room's mu
}

func newRoom(kind nova.TargetKind, name string, id uint64, shards int) *room {
	return &room{kind: kind, name: name, id: id, shards: make([]roomShard, shards)}
}

// add and remove run in the loop of shard i.
func (r *room) add(i int, m *membership) {
	list := &r.shards[i].list
	m.index = int32(len(*list))
	*list = append(*list, member{m.session, m})
}

func (r *room) remove(i int, m *membership) {
	if m.index < 0 {
		return
	}
	list := r.shards[i].list
	last := list[len(list)-1]
	list[m.index], last.of.index = last, m.index
	list[len(list)-1] = member{}
	list = list[:len(list)-1]
	if len(list) == 0 {
		list = nil
	}
	r.shards[i].list = list
	m.index = -1
}

// directory finds rooms of one kind by name.
type directory struct {
	mu     sync.RWMutex
	rooms  map[string]*room
	kind   nova.TargetKind
	shards int
	ids    *atomic.Uint64
}

func (d *directory) get(name string) *room {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.rooms[name]
}

// lock returns the room of that name with its lock held, made by create when
// there is none; nil when create is nil.
func (d *directory) lock(name string, create func(*room)) *room {
	for {
		r := d.get(name)
		if r == nil {
			if create == nil {
				return nil
			}
			d.mu.Lock()
			if r = d.rooms[name]; r == nil {
				r = newRoom(d.kind, name, d.ids.Add(1), d.shards)
				create(r)
				d.rooms[name] = r
			}
			d.mu.Unlock()
		}
		r.mu.Lock()
		if !r.gone {
			return r
		}
		r.mu.Unlock()
	}
}

// drop takes a room out. The caller holds r.mu.
func (d *directory) drop(r *room) {
	r.gone = true
	d.mu.Lock()
	delete(d.rooms, r.name)
	d.mu.Unlock()
}

func (d *directory) len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.rooms)
}

// names returns the names of the rooms of this moment, sorted.
func (d *directory) names() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.rooms))
}

// all returns the rooms of this moment.
func (d *directory) all() []*room {
	d.mu.RLock()
	defer d.mu.RUnlock()
	rooms := make([]*room, 0, len(d.rooms))
	for _, r := range d.rooms {
		rooms = append(rooms, r)
	}
	return rooms
}
