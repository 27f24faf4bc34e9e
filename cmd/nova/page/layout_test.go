package page_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/ignex/nova"
	language "github.com/ignex/nova/codegen/testdata/language/go"
	"github.com/ignex/nova/examples/seismic"
	"github.com/ignex/nova/market"
)

var update = flag.Bool("update", false, "write test/*.layout.json anew")

// The tests of the page's decoder read layouts from files. They are what a
// server answers at /schema today.
func TestLayoutsOfTheDecoderTests(t *testing.T) {
	for file, schema := range map[string]*nova.Schema{
		"test/market.layout.json":   market.Schema,
		"test/seismic.layout.json":  seismic.Schema,
		"test/language.layout.json": language.Schema,
	} {
		want, err := json.MarshalIndent(schema.Layout(), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run: go test ./cmd/nova/page -run Layouts -update", file)
		}
	}
}
