package seismic_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/ignex/nova/examples/seismic"
)

// lines returns the recorded earthquakes, one JSON object each.
func lines(t *testing.T) [][]byte {
	t.Helper()
	data, err := os.ReadFile("earthquakes.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		all = append(all, bytes.Clone(scanner.Bytes()))
	}
	if len(all) != 1707 {
		t.Fatalf("%d lines, want 1707", len(all))
	}
	return all
}

func parse(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestEveryLineSurvives sends each line through both codecs: JSON into the
// generated struct, to bytes and back, and through the schema-driven codec.
func TestEveryLineSurvives(t *testing.T) {
	layout := seismic.Schema.Layout()
	table := seismic.EarthquakeEvent.Info().Table
	for i, line := range lines(t) {
		want := parse(t, line)
		var in seismic.Earthquake
		if err := json.Unmarshal(line, &in); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		frame, err := seismic.EarthquakeEvent.AppendFrame(nil, &in)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		out, err := seismic.EarthquakeEvent.DecodeFrame(frame)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got := parse(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("line %d: struct gives\n%s\nwant\n%s", i+1, text, line)
		}

		payload, err := layout.EncodeJSON(nil, table, line)
		if err != nil || !bytes.Equal(payload, frame[14:]) {
			t.Errorf("line %d: the schema-driven codec writes other bytes: %v", i+1, err)
		}
		text, err = layout.AppendJSON(nil, table, payload)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got := parse(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("line %d: schema-driven codec gives\n%s\nwant\n%s", i+1, text, line)
		}
	}
}
