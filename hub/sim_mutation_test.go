package hub_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/session/sim"
)

// simMutations are simplifications that look harmless, and mistakes the
// simulator found once. Each has to be caught.
var simMutations = []sim.Mutation{
	{Name: "epoch told behind the frames", File: "hub/join.go", Edits: [][2]string{
		{"return append([]*session.Batch{session.NewBatch([]session.Frame{told})}, batches(frames)...)",
			"return append(batches(frames), session.NewBatch([]session.Frame{told}))"},
	}},
	{Name: "broadcast skips sessions without a socket", File: "hub/shard.go", Edits: [][2]string{
		{`if except == "" || m.session.id != except {`, `if m.session.peer != nil && (except == "" || m.session.id != except) {`},
	}},
	{Name: "a forgotten topic keeps its epoch", File: "hub/topic.go", Edits: [][2]string{
		{"rand.Read(random[:])", "_ = rand.Read\n\tcopy(random[:], name)"},
	}},
	{Name: "seeded topics live before the cursors are known", File: "hub/client.go", Edits: [][2]string{
		{"return c.Topic == topic }); i >= 0 {", "return c.Topic == topic }); i >= 1<<20 {"},
	}},
	{Name: "a session string alone opens the session", File: "hub/attach.go", Edits: [][2]string{
		{"old != s && old.user == s.user && old.pinned == s.pinned", "old != s && old.pinned == s.pinned"},
	}},
	{Name: "a replaced socket's close ends the session", File: "hub/lost.go", Edits: [][2]string{
		{"if s.ended || !s.queue.Owns(c) {", "if s.ended {"},
	}},
	{Name: "a client frame handled twice", File: "hub/upstream.go", Edits: [][2]string{
		{"case t.seq <= box.received:\n\t\treturn false, true", "case t.seq <= box.received:\n\t\treturn true, true"},
	}},
	{Name: "offset given again within an epoch", File: "hub/topic.go", Edits: [][2]string{
		{"	t.head++\n", "	if t.head++; t.head > 5 {\n\t\tt.head = 5\n\t}\n"},
	}},
	{Name: "joins at once take the same room", File: "hub/join.go", Edits: [][2]string{
		{"max(frames-s.coming.frames, 0), max(bytes-s.coming.bytes, 0)", "frames, bytes"},
	}},
	{Name: "what the client has is replayed", File: "hub/join.go", Edits: [][2]string{
		{"uint64(req.offset) <= t.head {\n", "t.lost <= uint64(req.offset) && uint64(req.offset) <= t.head {\n"},
	}},
	{Name: "a session that ended stays findable", File: "hub/end.go", Edits: [][2]string{
		{"delete(h.strings, s.hash)", "_ = s.hash"},
	}},
}

// simMutationSeeds is how many programs may pass before a mutation has to show.
const simMutationSeeds = "20000"

func TestSimHubCatchesMutations(t *testing.T) {
	if !simMutate || testing.Short() {
		return // it builds a test binary for each
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range simMutations {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			overlay, err := m.Overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-timeout", "300s", "-run", "^TestSimHub$", ".")
			cmd.Env = append(os.Environ(), "NOVA_SIM_SEED=1", "NOVA_SIM_SEEDS="+simMutationSeeds, "NOVA_SIM_PROGRAM=", "NOVA_SIM_SHRINK=0")
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("not caught by %s programs", simMutationSeeds)
			case !strings.Contains(string(out), "invariant") && !strings.Contains(string(out), "panic"):
				t.Errorf("%v\n%s", err, out)
			default:
				for line := range strings.Lines(string(out)) {
					if strings.Contains(line, "seed ") {
						t.Log(strings.TrimSpace(line))
					}
				}
			}
		})
	}
}
