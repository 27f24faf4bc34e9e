package sim_test

import (
	"github.com/ignex/nova/session"
	"github.com/ignex/nova/session/sim"
)

// check holds the invariants of every queue.
func (w *world) check() {
	for _, s := range w.sessions {
		s.check()
	}
	if w.step%16 == 0 {
		w.checkHeld()
	}
}

func (w *world) checkHeld() {
	seen := map[*session.Batch]bool{}
	sum := 0
	for _, s := range w.sessions {
		p := w.peeker.At(&s.q)
		sum += p.State().SlotBytes
		p.Runs(func(r sim.Run) {
			if r.Batch == nil || seen[r.Batch] {
				return
			}
			seen[r.Batch] = true
			sum += r.Batch.Weight()
		})
	}
	if int64(sum) != w.held.Load() {
		w.fail(15, "the rings hold %d bytes, counted %d", sum, w.held.Load())
	}
}

func (s *sess) check() {
	w := s.w
	p := w.peeker.At(&s.q)
	st := p.State()
	num := st.Lost + 1
	frames, bytes, own, ownBytes, kept, keptFrames := 0, 0, 0, 0, 0, 0
	p.Runs(func(r sim.Run) {
		if r.Num != num || r.Count == 0 {
			w.fail(12, "%s: a run begins at %d, want %d", s.name, r.Num, num)
		}
		for k := range r.Count {
			n := r.Num + uint64(k)
			switch {
			case r.Batch == nil:
				continue
			case n <= st.Written:
				keptFrames++
				kept += r.Batch.Frame(int(r.First + k)).Size()
			case w.emits[s.log[n]].own:
				own++
				ownBytes += r.Batch.Frame(int(r.First + k)).Size()
			default:
				frames++
				bytes += r.Batch.Frame(int(r.First + k)).Size()
			}
		}
		num = r.Num + uint64(r.Count)
	})
	if num != st.Next && !s.ended {
		w.fail(12, "%s: the ring ends at %d, next is %d", s.name, num, st.Next)
	}
	if st.Lost > st.Written || st.Written >= st.Next || st.Acked >= st.Next {
		w.fail(12, "%s: %+v", s.name, st)
	}
	if got, want := [5]int{st.UnsentFrames, st.UnsentBytes, st.OwnFrames, st.OwnBytes, st.KeptBytes}, [5]int{frames, bytes, own, ownBytes, kept}; got != want {
		w.fail(15, "%s: counts %v, the ring has %v", s.name, got, want)
	}
	if frames > w.limits.UnsentFrames || bytes > w.limits.UnsentBytes {
		w.fail(15, "%s: %d frames, %d bytes unsent", s.name, frames, bytes)
	}
	seam := 0 // holes in front of and behind a write under way stay apart
	if s.conn != nil {
		seam = 2
	}
	if st.Runs > 2*(keptFrames+frames+own)+1+seam {
		w.fail(12, "%s: %d runs for %d frames", s.name, st.Runs, keptFrames+frames+own)
	}
	for n := s.passedTo + 1; n <= st.Written && !s.ended; n++ {
		s.passed[n] = st.Next - 1
	}
	s.passedTo = max(s.passedTo, st.Written)
	limit := st.Written
	if s.conn != nil && s.q.Owns(&s.conn.cursor) {
		next, rewind := w.peeker.Cursor(&s.conn.cursor)
		if next <= st.Lost || next > st.Next || rewind > 0 && rewind <= st.Lost {
			w.fail(12, "%s: the cursor is at %d, replay from %d: %+v", s.name, next, rewind, st)
		}
		limit = min(limit, next-1)
		if rewind > 0 {
			limit = min(limit, rewind-1)
		}
	}
	if s.q.Admitted() && st.Lost < limit && (int(st.Written-st.Lost) > max(st.KeepMax, w.limits.KeepFrames) || kept > w.limits.KeepBytes) {
		w.fail(15, "%s: %d numbers, %d bytes kept", s.name, st.Written-st.Lost, kept)
	}
	if s.q.Admitted() && !st.Broken && !s.ended {
		for n := st.Lost - min(st.Lost, 1); n <= st.Next; n++ {
			if got, want := s.q.Kept(n), st.Lost <= n && n <= st.Written; got != want {
				w.fail(6, "%s: kept(%d) is %v: %+v", s.name, n, got, st)
			}
		}
	}
	x := s.q.Stats()
	if x.Numbered != s.numbered || x.Numbered != x.Written+x.Superseded+x.Dropped+x.Withdrawn+x.Discarded+x.HandedOver+x.Unsent {
		w.fail(16, "%s: %d numbered: %+v", s.name, s.numbered, x)
	}
}

// drain takes all faults away and runs until nothing moves.
func (w *world) drain() {
	for _, c := range w.conns {
		if c.holeDown || c.holeUp || c.clientGone {
			c.clientGone = true
			if c.client.conn == c {
				c.client.conn = nil
			}
			c.lose()
		}
	}
	for range 300 {
		w.step++
		for _, cl := range w.clients {
			if cl.conn != nil && cl.conn.serverGone && len(cl.conn.down) == 0 {
				cl.conn.clientGone = true
				cl.conn = nil
			}
			if cl.conn == nil && !cl.dead {
				w.dial(cl)
			}
		}
		moved := false
		for _, c := range w.conns {
			for len(c.up) > 0 && !c.serverGone {
				m := c.up[0]
				c.up = c.up[1:]
				c.handle(m)
				moved = true
			}
			c.wrote(1 << 20)
			c.flush()
			if c.clientGone {
				c.lose()
			}
			moved = moved || len(c.down) > 0 && !c.clientGone
			c.readSome(1 << 20)
		}
		w.check()
		if w.broken != nil {
			return
		}
		if !moved {
			w.drained()
			return
		}
	}
	w.fail(20, "does not drain")
}

// drained checks what holds when nothing moves any more.
func (w *world) drained() {
	w.checkHeld()
	for _, cl := range w.clients {
		if cl.dead || cl.conn == nil {
			continue
		}
		s := cl.conn.sess
		if frames, _ := s.q.Unsent(); frames > 0 || s.q.Written() != s.q.Last() {
			w.fail(20, "%s: %d frames unsent, written %d of %d", s.name, frames, s.q.Written(), s.q.Last())
		}
		if cl.base {
			continue
		}
		if cl.next != s.q.Last()+1 || cl.life != s {
			w.fail(4, "client %d: %s ends at %d, the ledger at %d", cl.id, s.name, s.q.Last(), cl.next)
		}
		for n, reason := range cl.gaps {
			if reason == int(session.Superseded) && !s.newer(n, s.passed[n], cl.gaps) {
				w.fail(7, "client %d: number %d was superseded, and nothing newer came within its turn, up to %d", cl.id, n, s.passed[n])
			}
		}
	}
}
