package sim_test

import (
	"testing"

	"github.com/ignex/nova/session/sim"
)

// mutations are simplifications that look harmless, and mistakes the simulator
// found once. Each has to be caught.
var mutations = []sim.Mutation{
	{Name: "frames before attach", File: "session/queue.go", Edits: [][2]string{
		{"if !q.admitted || q.broken || count == 0 {", "if q.broken || count == 0 {"},
	}},
	{Name: "hole at the end not told", File: "session/fill.go", Edits: [][2]string{
		{"			if dst, more = q.fillGap(p, r, dst, start); !more {",
			"			if r.end() == q.next {\n\t\t\t\tp.next = r.end()\n\t\t\t\tcontinue\n\t\t\t}\n\t\t\tif dst, more = q.fillGap(p, r, dst, start); !more {"},
	}},
	{Name: "write cursor kept in the session", File: "session/fill.go", Edits: [][2]string{
		{"	if q.cursor != c || !q.admitted {\n\t\treturn\n\t}\n\tq.advance(&went)", "	if !q.admitted {\n\t\treturn\n\t}\n\tq.advance(&went)"},
	}},
	{Name: "a position from another life accepted", File: "session/resume.go", Edits: [][2]string{
		{"q.lost <= n && n <= q.written", "q.lost <= n && n < q.next"},
	}},
	{Name: "conflation key without the target", File: "session/relieve.go", Edits: [][2]string{
		{"v := value{f.Target, ", "v := value{0, "},
	}},
	{Name: "newest value takes the older one's place", File: "session/relieve.go", Edits: [][2]string{
		{"	for num := last; num > first; {", "	newest := map[value]uint64{}\n	for num := last; num > first; {"},
		{"		if _, newer := seen[v]; newer {\n			q.drop(q.ring.find(num), num, 1, Superseded)\n",
			"		if m := newest[v]; m > 0 {\n			b := r.batch\n			b.frames[at], b.frames[at+int(m-num)] = b.frames[at+int(m-num)], b.frames[at]\n" +
				"			q.drop(q.ring.find(m), m, 1, Superseded)\n			dropped++\n		} else if _, newer := seen[v]; newer {\n			q.drop(q.ring.find(num), num, 1, Superseded)\n"},
		{"		seen[v] = struct{}{}", "		if _, newer := seen[v]; !newer || newest[v] > 0 {\n			newest[v] = num\n		}\n		seen[v] = struct{}{}"},
	}},
	{Name: "history trimmed in front of a promised replay", File: "session/queue.go", Edits: [][2]string{
		{"		limit = min(limit, c.at.next-1)\n", ""},
	}},
	{Name: "history trimmed in front of a replay that waits for a frame to end", File: "session/queue.go", Edits: [][2]string{
		{"			limit = min(limit, c.rewind-1)\n", "			limit = min(limit, q.written)\n"},
	}},
	{Name: "a hot key moves back for ever", File: "session/relieve.go", Edits: [][2]string{
		{"from := max(q.mark, q.free())", "from := q.free()"},
	}},
	{Name: "trimmed between promise and recovery", File: "session/attach.go", Edits: [][2]string{
		{"		q.detach(q.cursor)\n\t}\n\tq.cursor, q.trailers", "		q.Detach(q.cursor)\n\t}\n\tq.cursor, q.trailers"},
	}},
	{Name: "close queued during a short write", File: "session/fill.go", Edits: [][2]string{
		{"case c.closing == closeNow && ahead == len(c.ahead):", "case c.closing == closeNow:"},
	}},
	{Name: "withdrawn frames of a short write are written", File: "session/fill.go", Edits: [][2]string{
		{"		q.withdrawLate() // before a replay is promised\n", "		q.late = nil\n"},
	}},
	{Name: "a must frame dropped", File: "session/relieve.go", Edits: [][2]string{
		{"uint8(1<<wire.DeliverDrop | 1<<wire.DeliverLatest)", "uint8(1<<wire.DeliverDrop | 1<<wire.DeliverLatest | 1<<wire.DeliverMust)"},
	}},
	{Name: "the older value kept", File: "session/relieve.go", Edits: [][2]string{
		{"	for num := q.next; num > from; {\n\t\ti := q.ring.find(num - 1)", "	for num := q.next - 1; num > from; {\n\t\ti := q.ring.find(num - 1)"},
		{"seen := map[value]struct{}{}", "seen := map[value]struct{}{{1, \"3 1\"}: {}}"},
	}},
	{Name: "a replaced socket forgets what it has begun", File: "session/attach.go", Edits: [][2]string{
		{"	c.at, c.to = place{}, to\n", "	c.at, c.to = place{}, place{off: min(0, to.off)}\n"},
	}},
}

func TestSimQueueCatchesMutations(t *testing.T) {
	if !mutate || testing.Short() {
		return // it builds a test binary for each
	}
	sim.Catch(t, "../..", "^TestSimQueue$", mutations)
}
