package hub_test

import (
	"testing"

	"github.com/ignex/nova/session/sim"
)

// heapMutations are mistakes in what is counted, bounded or given back. Each has to
// be caught by TestHeap.
var heapMutations = []sim.Mutation{
	{Name: "a batch is not released at the front", File: "session/ring.go", Edits: [][2]string{
		{"	if b := q.at(0).batch; b != nil {\n		b.hold(q.held, -1)\n	}\n", ""},
	}},
	{Name: "a dropped frame keeps its batch", File: "session/ring.go", Edits: [][2]string{
		{"	r.batch.hold(q.held, users)\n", "	_ = users\n"},
	}},
	{Name: "slots are not counted", File: "session/ring.go", Edits: [][2]string{
		{"	if q.held != nil && slots != 0 {", "	if q.held == nil {"},
	}},
	{Name: "only the bytes of frames are counted", File: "session/frame.go", Edits: [][2]string{
		{"	n := len(f.data) + frameCost\n", "	n := len(f.data)\n"},
	}},
	{Name: "compressed payloads are not counted", File: "session/frame.go", Edits: [][2]string{
		{"		n += len(f.payload()) + packCost\n", "		n += packCost\n"},
	}},
	{Name: "no bound for the bytes not sent", File: "session/queue.go", Edits: [][2]string{
		{"return q.unsentFrames > q.limits.UnsentFrames || q.unsentBytes > q.limits.UnsentBytes", "return q.unsentFrames > q.limits.UnsentFrames"},
	}},
	{Name: "no bound for the bytes kept", File: "session/queue.go", Edits: [][2]string{
		{"if over <= 0 && q.keptBytes <= q.limits.KeepBytes {", "if over <= 0 {"},
	}},
	{Name: "batches are kept for a few of their frames", File: "session/relieve.go", Edits: [][2]string{
		{"		q.Repack()\n", ""},
	}},
	{Name: "idle sessions keep what they have", File: "hub/lost.go", Edits: [][2]string{
		{"		s.queue.Shrink(keep)\n", "		s.queue.SetKeep(keep)\n"},
	}},
	{Name: "a forgotten topic stays counted", File: "hub/forget.go", Edits: [][2]string{
		{"	h.metrics.historyBytes.Add(-int64(r.topic.weight))\n", ""},
	}},
	{Name: "topics in use keep what they have", File: "hub/forget.go", Edits: [][2]string{
		{"	if h.overHistory() {\n", "	if h.overHistory() && now.IsZero() {\n"},
	}},
	{Name: "a catch-up holds on to its page", File: "hub/catchup.go", Edits: [][2]string{
		{"	c.rest = append([]kept(nil), rest[:n]...)\n", "	c.rest = rest\n	_ = n\n"},
	}},
	{Name: "joins on the way are not counted", File: "hub/item.go", Edits: [][2]string{
		{"	n := itemCost + it.frame.Size()\n", "	n := it.frame.Size()\n"},
	}},
	{Name: "small control frames cost nothing", File: "session/cursor.go", Edits: [][2]string{
		{"const controlCost = 112", "const controlCost = 0"},
	}},
}

func TestSimHeapCatchesMutations(t *testing.T) {
	if !simMutate || testing.Short() {
		return // it builds a test binary for each
	}
	sim.Catch(t, "..", "^TestHeap$", heapMutations)
}
