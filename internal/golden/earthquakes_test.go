package golden_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ignex/nova/examples/seismic"
	"github.com/ignex/nova/internal/golden"
)

// A week of real earthquakes: JSON in equals JSON out, field by field, through
// each codec, and the judges accept every frame.
func TestEarthquakes(t *testing.T) {
	file, err := os.Open(filepath.Join(golden.Root(t), "examples", "seismic", "earthquakes.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := load(t, "seismic")
	verifier := golden.StartVerifier(t, s.schema)
	node := golden.StartNode(t, s.layout, s.schema, s.file(t, "index.ts"))
	event := s.layout.EventByName("earthquake")
	lines := bufio.NewScanner(file)
	n := 0
	for ; lines.Scan(); n++ {
		line := lines.Bytes()
		v, err := golden.FromJSON(s.layout, event.Table, line)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		judgeOurs(t, s, verifier, node, event.Table, v)

		// The struct through encoding/json, and back.
		var m seismic.Earthquake
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		frame, err := seismic.EarthquakeEvent.AppendFrame(nil, &m)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		back, err := seismic.EarthquakeEvent.DecodeFrame(frame)
		if err != nil || !reflect.DeepEqual(*back, m) {
			t.Fatalf("line %d: %+v became %+v, %v", n+1, m, back, err)
		}
		out, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		_, dynamic, err := s.layout.FrameJSON(nil, frame)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, line, out) || !sameJSON(t, line, dynamic) {
			t.Fatalf("line %d: %s\nbecame %s\nand %s", n+1, line, out, dynamic)
		}
		if t.Failed() {
			t.Fatalf("line %d: %s", n+1, line)
		}
	}
	if err := lines.Err(); err != nil || n != 1707 {
		t.Fatalf("%d lines, %v; the file has 1,707", n, err)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for to, text := range map[*any][]byte{&x: a, &y: b} {
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(to); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(x, y)
}
