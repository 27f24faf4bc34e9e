package session

import "github.com/ignex/nova/wire"

// relieve brings the queue back under its bounds after count frames were added:
// superseded frames go first, then the oldest that may be dropped, then new ones
// without a class if the policy says so. If must frames are left that do not
// fit, the queue breaks.
func (q *Queue) relieve(count int) (dropped int) {
	before := q.stats.Superseded + q.stats.Dropped
	dropped = q.Conflate()
	if q.over() {
		dropped += q.dropVictims()
	}
	if q.over() && q.limits.Policy == DropNewest {
		dropped += q.dropNewest(count)
	}
	if q.over() {
		dropped += q.Break()
	}
	if each := uint64(max(q.limits.UnsentFrames, 1)); (q.stats.Superseded+q.stats.Dropped)/each != before/each {
		q.Repack()
	}
	return dropped
}

// victims returns the classes whose unsent frames may be dropped.
func (q *Queue) victims() uint8 {
	v := uint8(1<<wire.DeliverDrop | 1<<wire.DeliverLatest)
	if q.limits.Policy == DropOldest {
		v |= 1 << wire.DeliverDefault
	}
	return v
}

// dropVictims drops the oldest free victims until the bounds hold.
func (q *Queue) dropVictims() (dropped int) {
	victims, num := q.victims(), max(q.free(), q.firm)
	over := func(n, b int) bool {
		return q.unsentFrames-n > q.limits.UnsentFrames || q.unsentBytes-b > q.limits.UnsentBytes
	}
	for num < q.next && q.over() {
		i := q.ring.find(num)
		r := q.ring.at(i)
		if r.batch == nil || r.batch.classes&victims == 0 {
			num = r.end()
			continue
		}
		victim := func(at int) bool { return 1<<r.batch.frames[int(r.first)+at].class()&victims != 0 }
		at := int(num - r.num)
		for at < int(r.count) && !victim(at) {
			at++
		}
		n := 0
		for at+n < int(r.count) && victim(at+n) && over(n, r.bytes(at, n)) {
			if r.batch.frames[int(r.first)+at+n].class() == wire.DeliverDefault {
				q.stats.Oldest++
			}
			n++
		}
		num = r.num + uint64(at+n)
		if n > 0 {
			q.drop(i, num-uint64(n), n, ByPolicy)
			dropped += n
		}
	}
	q.firm = num
	return dropped
}

// dropNewest drops frames without a class from the end, of the count appended
// last.
func (q *Queue) dropNewest(count int) (dropped int) {
	first := max(q.next-uint64(count), q.free())
	for num := q.next; num > first && q.over(); {
		num--
		i := q.ring.find(num)
		r := q.ring.at(i)
		if r.batch != nil && r.batch.frames[int(r.first)+int(num-r.num)].class() == wire.DeliverDefault {
			q.drop(i, num, 1, ByPolicy)
			q.stats.Newest++
			dropped++
		}
	}
	return dropped
}

// value tells the values of class latest apart.
type value struct {
	target uint64
	key    string
}

// Conflate gives up the unsent frames behind the mark that a newer frame of the
// same event, target and key supersedes. It is worth calling when a socket that
// was stalled takes bytes again; Append does it at the bounds.
func (q *Queue) Conflate() (dropped int) {
	from := max(q.mark, q.free())
	if q.broken || q.lastLatest < max(from, q.conflated) {
		return 0
	}
	q.conflated = q.next
	seen := map[value]struct{}{}
	for num := q.next; num > from; {
		i := q.ring.find(num - 1)
		r := q.ring.at(i)
		first := max(r.num, from)
		if r.batch == nil || r.batch.classes&(1<<wire.DeliverLatest) == 0 {
			num = first
			continue
		}
		dropped += q.conflateRun(*r, first, num, seen)
		num = first
	}
	return dropped
}

// conflateRun looks at the numbers first..last−1 of a run, from the end.
func (q *Queue) conflateRun(r run, first, last uint64, seen map[value]struct{}) (dropped int) {
	for num := last; num > first; {
		num--
		at := int(r.first) + int(num-r.num)
		f := &r.batch.frames[at]
		if f.class() != wire.DeliverLatest {
			continue
		}
		v := value{f.Target, r.batch.key(at, q.limits.Key)}
		if v.key == "" {
			continue
		}
		if _, newer := seen[v]; newer {
			q.drop(q.ring.find(num), num, 1, Superseded)
			dropped++
		}
		seen[v] = struct{}{}
	}
	return dropped
}
