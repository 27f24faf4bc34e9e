package hub_test

import (
	"testing"

	"github.com/ignex/nova/session/sim"
)

// simMutations are simplifications that look harmless, and mistakes the
// simulator found once. Each has to be caught.
var simMutations = []sim.Mutation{
	{Name: "epoch told behind the frames", File: "hub/replay.go", Edits: [][2]string{
		{"return append([]*session.Batch{session.NewBatch([]session.Frame{told})}, batches(frames)...), true",
			"return append(batches(frames), session.NewBatch([]session.Frame{told})), true"},
	}},
	{Name: "broadcast skips sessions without a socket", File: "hub/shard.go", Edits: [][2]string{
		{`if except != "" && m.session.id == except {`, `if m.session.peer == nil || except != "" && m.session.id == except {`},
	}},
	{Name: "a forgotten topic keeps its epoch", File: "hub/topic.go", Edits: [][2]string{
		{"	epoch := newEpoch()\n	t := &topic", "	epoch := \"always\"\n	t := &topic"},
	}},
	{Name: "seeded topics live before the cursors are known", File: "hub/client.go", Edits: [][2]string{
		{"return c.Topic == topic }); i >= 0 {", "return c.Topic == topic }); i >= 1<<20 {"},
	}},
	{Name: "a session string alone opens the session", File: "hub/attach.go", Edits: [][2]string{
		{"old != s && old.User() == s.User() && old.pinned == s.pinned", "old != s && old.pinned == s.pinned"},
	}},
	{Name: "a replaced socket's close ends the session", File: "hub/lost.go", Edits: [][2]string{
		{"if s.ended || !s.queue.Owns(c) {", "if s.ended {"},
	}},
	{Name: "a client frame handled twice", File: "hub/upstream.go", Edits: [][2]string{
		{"		case t.seq <= box.received:\n			t.fate = dropped\n", "		case t.seq <= box.received:\n			box.received = t.seq\n"},
	}},
	{Name: "offset given again within an epoch", File: "hub/topic.go", Edits: [][2]string{
		{"	t.head++\n", "	if t.head++; t.head > 5 {\n\t\tt.head = 5\n\t}\n"},
	}},
	{Name: "joins at once take the same room", File: "hub/replay.go", Edits: [][2]string{
		{"max(frames-s.coming.frames, 0), max(bytes-s.coming.bytes, 0)", "frames, bytes"},
	}},
	{Name: "what the client has is replayed", File: "hub/replay.go", Edits: [][2]string{
		{"	recovered = known && t.lost <= after // it has the rest, even with a hole\n", "	if recovered = known && t.lost <= after; !recovered {\n		after = 0\n	}\n"},
	}},
	{Name: "rest of the ring sent although not recovered", File: "hub/attach.go", Edits: [][2]string{
		{"	if !kept {\n		return errNotKept\n	}\n	return nil", "	_ = kept\n	return nil"},
		{"	caps := old.caps\n	switch {", "	caps := old.caps\n	asked, kept := n, old.queue.Kept(n)\n" +
			"	for n = min(n, old.queue.Written()); n < old.queue.Written() && !old.queue.Kept(n); n++ {\n	}\n	switch {"},
		{"NextSeq: int64(n) + 1, Received", "NextSeq: int64(asked) + 1, Received"},
		{"Session: text, Recovered: true,", "Session: text, Recovered: kept,"},
	}},
	{Name: "history append and fan-out in two steps", File: "hub/publish.go", Edits: [][2]string{
		{"	r.topic.used = now\n	h.metrics", "	r.topic.used = now\n	r.mu.Unlock()\n	runtime.Gosched()\n	r.mu.Lock()\n	h.metrics"},
		{"	\"context\"\n", "	\"context\"\n	\"runtime\"\n"},
	}},
	{Name: "fan-out first, then history", File: "hub/publish.go", Edits: [][2]string{
		{"	return nova.Result{Offset: r.topic.head, Members: h.spread(r, f, out.except)}", "	return nova.Result{Offset: r.topic.head, Members: sent}"},
		{"	grown := r.topic.record(", "	f.Ref, f.Offset = r.topic.ref, r.topic.head+1\n	sent := h.spread(r, f, out.except)\n	r.mu.Unlock()\n	runtime.Gosched()\n	r.mu.Lock()\n	grown := r.topic.record("},
		{"	\"context\"\n", "	\"context\"\n	\"runtime\"\n"},
	}},
	{Name: "a session found across lives", File: "hub/attach.go", Edits: [][2]string{
		{"	rand.Read(random[:])", "	_ = rand.Read\n	copy(random[:], s.user)"},
	}},
	{Name: "a revocation returns before the queue is clean", File: "hub/join.go", Edits: [][2]string{
		{"func (s *Session) settled() { s.shard.barrier(s.hub.ctx) }", "func (s *Session) settled() {}"},
	}},
	{Name: "a takeover waits for its own revocations only", File: "hub/attach.go", Seed: 12_900, Edits: [][2]string{
		{"	same := version", "	before := old.leaving.Load()\n	same := version"},
		{"	if old.leaving.Load() > 0 {", "	if old.leaving.Load() > before {"},
	}},
	{Name: "a member left with what is queued", File: "hub/join.go", Edits: [][2]string{
		{"		kindOf = itemWithdraw\n", "		kindOf = itemLeave\n"}, {"		s.leaving.Add(1) // whoever finds the membership gone sees this too\n", ""},
	}},
	{Name: "repeated resumes keep everything", File: "session/fill.go", Seed: 103_500, Edits: [][2]string{
		{"	q.trim() // first: a client that asks again and again must not keep everything\n	q.answerWaiting(c)\n", "	q.answerWaiting(c)\n	q.trim()\n"},
	}},
	{Name: "except left out of the history", File: "hub/topic.go", Edits: [][2]string{
		{"		if f := t.at(i); f.Offset > n && (f.except == \"\" || f.except != client) {", "		if f := t.at(i); f.Offset > n {"},
	}},
	{Name: "sessions without a socket are never too many", File: "hub/lost.go", Edits: [][2]string{
		{"		if !old && int64(h.Len()) <= h.most.Load() && !h.overSessions() {", "		if !old {"},
	}},
	{Name: "an append is tried again as another frame", File: "hub/pipeline.go", Edits: [][2]string{
		{"ID: a.id, Except", "ID: rand.Text(), Except"}, {"	\"context\"\n", "	\"context\"\n	\"crypto/rand\"\n"},
	}},
	{Name: "delivered although the log failed", File: "hub/pipeline.go", Edits: [][2]string{
		{"entries); err != nil {\n		return err\n	}\n	r.mu", "entries); err != nil {\n		for i := range entries {\n			entries[i].Epoch, entries[i].Offset = r.topic.log.epoch, r.topic.head+uint64(i)+1\n		}\n	}\n	r.mu"},
	}},
	{Name: "what waits for the log is dropped with a failure", File: "hub/pipeline.go", Edits: [][2]string{
		{"	if !closing {\n		return true\n	}", "	if !closing && len(l.queue) < 2 {\n		return true\n	}"},
	}},
	{Name: "a frame of a lost answer is taken for another's", File: "hub/pipeline.go", Edits: [][2]string{
		{"	if l.asked && l.epoch", "	if l.epoch == \"-\" && l.epoch"},
	}},
	{Name: "the log forgets whom a frame leaves out", File: "hub/pipeline.go", Edits: [][2]string{
		{"ID: a.id, Except: a.except", "ID: a.id"},
	}},
	{Name: "a session that ended stays findable", File: "hub/end.go", Edits: [][2]string{
		{"delete(h.strings, s.hash)", "_ = s.hash"},
	}},
}

func TestSimHubCatchesMutations(t *testing.T) {
	if !simMutate || testing.Short() {
		return // it builds a test binary for each
	}
	sim.Catch(t, "..", "^TestSimHub$", simMutations)
}
