package golden_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/wire"
)

// vector is one line of conformance/frames.json.
type vector struct {
	Name, Schema, Event string
	Frame               string
	Value               json.RawMessage
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Root(t), "conformance", "frames.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	return all
}

// Frames that another implementation wrote decode to their values with every
// reader of ours.
func TestConformanceFrames(t *testing.T) {
	subjects := map[string]*subject{"market": load(t, "market"), "control": load(t, "control")}
	nodes := map[string]*golden.Node{}
	for name, s := range subjects {
		nodes[name] = golden.StartNode(t, s.layout, s.schema, s.file(t, "index.ts"))
	}
	for _, c := range vectors(t) {
		t.Run(c.Name, func(t *testing.T) {
			s := subjects[c.Schema]
			frame, err := hex.DecodeString(c.Frame)
			if err != nil {
				t.Fatal(err)
			}
			event := s.layout.EventByName(c.Event)
			want, err := golden.FromJSON(s.layout, event.Table, c.Value)
			if err != nil {
				t.Fatal(err)
			}
			head, payload, err := wire.ParseFrame(frame)
			if err != nil || head != (wire.Header{ID: event.ID}) {
				t.Fatalf("header %+v, %v; want event id %#x", head, err, event.ID)
			}
			judgeReaders(t, s, nodes[c.Schema], event.Table, payload, want)

			// Our own bytes of the value differ in layout alone.
			ours, err := s.layout.AppendFrameJSON(nil, event, c.Value)
			if err != nil || !bytes.Equal(ours[:wire.HeaderLen], frame[:wire.HeaderLen]) {
				t.Fatalf("our frame %x, %v", ours, err)
			}
			if d := golden.Diff(golden.Complete(s.layout, event.Table, golden.Read(s.layout, event.Table, ours[wire.HeaderLen:])), want); d != "" {
				t.Errorf("google/flatbuffers reads our frame %s", d)
			}
		})
	}
}
