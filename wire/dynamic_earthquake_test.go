package wire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ignex/nova/schema"
)

// sharedFile reads a file of the data that lies beside the repository.
func sharedFile(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, "..", "shared", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A week of real events keeps every value: nulls, quotation marks, non-ASCII
// places, literals with a space.
func TestDynamicEarthquakes(t *testing.T) {
	model, err := schema.Read("earthquakes.schema.json", sharedFile(t, "data/earthquakes.schema.json"), schema.Options{})
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
	for line := range bytes.Lines(sharedFile(t, "data/earthquakes.ndjson")) {
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
