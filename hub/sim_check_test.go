package hub_test

import (
	"maps"
	"slices"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
	"github.com/ignex/nova/wire"
)

// simFrameMost is more than any frame has.
const simFrameMost = 150

// checkQueue holds the invariants of one session's queue, and notes what is in it.
func (w *simWorld) checkQueue(s *hub.Session, q *session.Queue) {
	p, l := w.peeker.At(q), w.log(s)
	st := p.State()
	num, frames := st.Lost+1, 0
	p.Runs(func(r sim.Run) {
		if r.Num != num || r.Count == 0 {
			w.fail(12, "session %s: a run begins at %d, want %d", s.ID(), r.Num, num)
		}
		num += uint64(r.Count)
		if r.Batch != nil {
			frames += int(r.Count)
			w.peek(l, r)
		}
	})
	if num != st.Next || st.Lost > st.Written || st.Written >= st.Next || st.Runs > 2*frames+3 {
		w.fail(12, "session %s: the ring ends at %d with %d frames: %+v", s.ID(), num, frames, st)
	}
	if st.UnsentFrames > w.limits.Backpressure.MaxFrames || st.UnsentBytes > w.limits.Backpressure.MaxBytes {
		w.fail(15, "session %s: %+v", s.ID(), st)
	}
	if st.KeptBytes > w.limits.Session.MaxBytes+simFrameMost {
		w.fail(15, "session %s keeps %d bytes, at most %d", s.ID(), st.KeptBytes, w.limits.Session.MaxBytes)
	}
	for n := l.written + 1; n <= st.Written; n++ {
		l.passed[n] = st.Next - 1
	}
	l.peeked, l.written = st.Next-1, st.Written
	x := q.Stats()
	if x.Numbered != x.Written+x.Superseded+x.Dropped+x.Withdrawn+x.Discarded+x.HandedOver+x.Unsent {
		w.fail(16, "session %s: %+v", s.ID(), x)
	}
}

// peek notes what is queued under numbers not looked at before.
func (w *simWorld) peek(l *simLog, r sim.Run) {
	for n := max(r.Num, l.peeked+1); n < r.Num+uint64(r.Count); n++ {
		f := r.Batch.Frame(int(r.First) + int(n-r.Num))
		frame := f.Wire()
		head, body, err := wire.ParseFrame(frame)
		if err != nil {
			w.fail(12, "queued: %v", err)
			continue
		}
		l.numbers[n] = simQueued{simEmitID(head.ID, body), f.Target}
	}
}

// tick lets time pass. The janitor has looked after everything when it is long.
func (w *simWorld) tick(d time.Duration) {
	if w.calm {
		d = time.Millisecond // whoever is silent is given up
	}
	time.Sleep(d)
	if d < 20*time.Second || len(w.holds) > 0 {
		return
	}
	w.settle()
	before := w.hub.SimIdle()
	time.Sleep(11 * time.Second)
	w.settle()
	for _, name := range w.hub.SimIdle() {
		if slices.Contains(before, name) {
			w.fail(15, "%s is kept over the totals", name)
		}
	}
	w.checkHeld()
}

// checkHeld counts the frames that sessions hold again.
func (w *simWorld) checkHeld() {
	time.Sleep(5 * time.Millisecond) // a busy loop waits a little before it looks again
	w.settle()
	if err := w.hub.SimIndexes(); err != nil {
		w.fail(17, "%v", err)
	}
	seen, sum := map[*session.Batch]bool{}, 0
	for _, s := range append(w.hub.SimParting(), w.hub.SimSessions()...) {
		s.SimLook(func(q *session.Queue) {
			p := w.peeker.At(q)
			sum += p.State().SlotBytes
			p.Runs(func(r sim.Run) {
				if r.Batch == nil || seen[r.Batch] {
					return
				}
				seen[r.Batch] = true
				sum += r.Batch.Weight()
			})
		})
	}
	if held := w.hub.SessionBytes(); int64(sum) != held {
		w.fail(15, "the sessions hold %d bytes, counted %d", sum, held)
	}
}

// drain takes all faults away and runs until nothing moves.
func (w *simWorld) drain() {
	for len(w.holds) > 0 {
		w.turn()
	}
	w.quiet()
	for _, k := range w.socks {
		k.resume()
		if k.lost || k.hole[0] || k.hole[1] {
			k.hangUp()
			k.change(func() { k.broken = true })
		}
	}
	for quiet := 0; quiet <= 4; {
		w.step.Add(1)
		if w.round() {
			quiet = 0
		} else {
			quiet++
			time.Sleep(time.Second)
		}
		if w.failed() != nil {
			return
		}
		if w.rounds++; w.rounds > 400 {
			w.fail(20, "does not drain")
			return
		}
	}
	w.drained()
}

// round brings everything that is on the way to its end.
func (w *simWorld) round() (moved bool) {
	for _, cl := range w.clients {
		if k := cl.sock; k != nil && k.gone() {
			k.readSome(1 << 20)
			k.hangUp()
		}
		if cl.sock == nil && !cl.dead {
			cl.dial()
		}
	}
	w.settle()
	for _, k := range w.socks {
		if k.lost {
			k.change(func() { k.broken = true })
			continue
		}
		moved = moved || len(k.link.up) > 0 || len(k.link.down) > 0
		k.arrive(1 << 20)
		k.readSome(1 << 20)
	}
	w.settle()
	if w.hub.SimAppending() {
		time.Sleep(100 * time.Millisecond)
		moved = true
	}
	return moved
}

// drained checks what holds when nothing moves any more.
func (w *simWorld) drained() {
	w.checkHeld()
	w.checkLog()
	if m := w.hub.Metrics(); w.calm && m.SlowClosed == 0 && len(w.socks) != len(w.clients) {
		w.fail(20, "%d sockets for %d clients without a fault", len(w.socks), len(w.clients))
	}
	for _, cl := range w.clients {
		if cl.base || cl.dead || cl.sock == nil {
			continue
		}
		s := w.hub.SimFind(cl.name)
		if s == nil {
			w.fail(4, "client %d: its session is not there", cl.id)
			continue
		}
		var last uint64
		if s.SimLook(func(q *session.Queue) { last = q.Last() }); cl.next != last+1 {
			w.fail(4, "client %d: the session ends at %d, the ledger at %d", cl.id, last, cl.next)
		}
		l := w.log(s)
		w.reached(cl, l)
		w.superseded(cl, l)
		// A client's own leave has no answer: what crossed it may be told behind it.
		unsure := func(topic string) bool { return cl.unsure[topic] || l.unsub[topic] }
		got := slices.DeleteFunc(slices.Sorted(maps.Keys(cl.subs)), unsure)
		if want := slices.DeleteFunc(s.Topics(), unsure); !slices.Equal(got, want) {
			w.fail(5, "client %d: told to be in %v, is in %v", cl.id, got, want)
		}
		w.mu.Lock()
		handled := slices.Clone(w.handled[s.Client()])
		w.mu.Unlock()
		if !slices.Equal(handled, cl.sent) && !cl.shared {
			w.fail(18, "client %d: sent %v, handled %v", cl.id, cl.sent, handled)
		}
	}
}

// reached compares what was addressed to a session with what its client got.
func (w *simWorld) reached(cl *simClient, l *simLog) {
	got, need, missing := map[simAddress]int{}, map[simAddress]int{}, 0
	for _, a := range cl.got {
		got[a]++
	}
	for _, a := range l.addressed {
		if need[a]++; need[a] > max(got[a], cl.seen[a]) {
			missing++
		}
	}
	for _, p := range l.perhaps {
		s := cl.subs[p.topic]
		if s != nil && s.epoch == p.epoch && s.from < p.offset && !s.lacks(p.offset) && w.emits[p.emit].event != "state" && // which a newer one replaces
			got[p.simAddress]+cl.seen[p.simAddress] == 0 {
			missing++
		}
	}
	missing += w.logReached(cl, got)
	if missing > len(cl.reasons)+cl.skipped {
		w.fail(4, "client %d: %d of %d emits did not arrive, %d declared missing, %d of no subscription",
			cl.id, missing, len(l.addressed), len(cl.reasons), cl.skipped)
	}
	last := -1
	for _, a := range cl.got {
		target := w.emits[a.emit].target
		if need[a] == 0 || cl.left[target.Name] || cl.shared && l.unsub[target.Name] || target.Kind == nova.ToTopics {
			continue // of a history: whoever left, or whose other half did, may have joined again
		}
		if a.emit < last {
			w.fail(1, "client %d: emit %d behind %d", cl.id, a.emit, last)
		}
		last = a.emit
	}
}

// lacks reports whether an offset was declared missing.
func (s *simSub) lacks(offset uint64) bool {
	return slices.ContainsFunc(s.given, func(g [2]uint64) bool { return g[0] <= offset && offset <= g[1] })
}

// superseded holds that no key waits over one turn of the queue: for a value that
// was superseded a newer one arrives that was queued before the writer came to the
// place of the first.
func (w *simWorld) superseded(cl *simClient, l *simLog) {
	same := func(a, b simQueued) bool {
		return a.emit >= 0 && b.emit >= 0 && a.target == b.target &&
			w.emits[a.emit].event == w.emits[b.emit].event && w.emits[a.emit].key == w.emits[b.emit].key
	}
	for n, reason := range cl.reasons {
		v, ok := l.numbers[n]
		if !ok || reason != session.Superseded {
			continue
		}
		found := false
		for m := n + 1; m <= l.passed[n] && !found; m++ {
			other, known := l.numbers[m]
			_, missing := cl.reasons[m]
			found = !known || same(v, other) && (!missing || cl.reasons[m] != session.Superseded)
		}
		if !found {
			w.fail(7, "client %d: number %d, emit %d, was superseded by nothing up to %d", cl.id, n, v.emit, l.passed[n])
		}
	}
}
