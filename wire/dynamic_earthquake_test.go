package wire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ignex/nova/schema"
)

// seismicFile reads a file of examples/seismic.
func seismicFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "examples", "seismic", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A week of real events keeps every value: nulls, quotation marks, non-ASCII
// places, literals with a space.
func TestDynamicEarthquakes(t *testing.T) {
	model, err := schema.Read("schema.json", seismicFile(t, "schema.json"), schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := model.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Init(); err != nil {
		t.Fatal(err)
	}
	event, err := l.FindEvent("earthquake")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(seismicFile(t, "earthquakes.ndjson")) {
		n++
		frame, err := l.AppendFrameJSON(nil, event, line)
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		_, out, err := l.FrameJSON(nil, frame)
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		in, back := parseJSON(t, line).(map[string]any), parseJSON(t, out).(map[string]any)
		if len(in) != len(back) {
			t.Fatalf("line %d: %d fields became %d", n, len(in), len(back))
		}
		for name, value := range in {
			if !reflect.DeepEqual(value, back[name]) {
				t.Errorf("line %d: %s: %v became %v", n, name, value, back[name])
			}
		}
	}
	if n != 1707 {
		t.Errorf("%d lines, want 1707", n)
	}
}
