package hub

// What a shard does with sockets: which of them it writes to, and when.

// stride is how many sockets are written to before the loop looks at its inbox again.
func (sh *shard) stride() int {
	if sh.heavy {
		return heavyWrites
	}
	return writesATurn
}

// together flushes peer, nil = none, with others; write sees to those that still wait.
func (sh *shard) together(peer Peer) {
	if peer == nil {
		return
	}
	if sh.peers = append(sh.peers, peer); len(sh.peers) == atOnce {
		sh.write()
	}
}

// write flushes what together left.
func (sh *shard) write() {
	if len(sh.peers) == 0 {
		return
	}
	sh.peers[0].FlushAll(sh.peers)
	if sh.writes += len(sh.peers); sh.writes >= writesATurn {
		sh.turn.Yield() // publishes that came meanwhile go along with the writes to come
		sh.writes = 0
	}
	clear(sh.peers)
	sh.peers, sh.wrote = sh.peers[:0], true
}

// fetchAhead is how many receivers are fetched from memory side by side. Between
// two of them comes a system call, which would let each wait for its own.
const fetchAhead = 8

// near brings the state of some members into the processor's cache.
func (sh *shard) near(list []member) {
	var peers [fetchAhead]Peer
	for i := range list {
		list[i].session.owner.Load()
	}
	for i := range list {
		if s := list[i].session; s.mu.TryLock() {
			peers[i] = s.peer
			sh.sum += s.queue.Near()
			s.mu.Unlock()
		}
	}
	for _, peer := range peers {
		if peer != nil {
			peer.Near()
		}
	}
}

// mark notes that a session wants to be flushed.
func (sh *shard) mark(s *Session, small bool) {
	if s.dirty {
		return
	}
	s.dirty = true
	if small {
		sh.small = append(sh.small, s)
	} else {
		sh.large = append(sh.large, s)
	}
}

// flush lets at most n sessions write: three that a small target made dirty,
// then one of a large target, so that a chat of two does not wait for thousands.
func (sh *shard) flush(n int) {
	small, large := 0, 0
	for k := 0; k < n; k++ {
		var s *Session
		switch {
		case small < len(sh.small) && (k&3 != 3 || large == len(sh.large)):
			s = sh.small[small]
			small++
		case large < len(sh.large):
			s = sh.large[large]
			large++
		}
		if s == nil {
			break
		}
		s.dirty = false
		sh.together(s.socket())
	}
	sh.write()
	sh.small, sh.large = rest(sh.small, small), rest(sh.large, large)
}

func rest(list []*Session, n int) []*Session {
	m := copy(list, list[n:])
	clear(list[m:])
	if m == 0 && cap(list) > 4*writesATurn {
		return nil
	}
	return list[:m]
}
