package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ignex/nova/wire"
)

// PrintJSON returns what `flatc --json` prints of each payload. flatc verifies
// nothing: every payload must have passed the Verifier.
func PrintJSON(t testing.TB, schema *FBS, table string, payloads [][]byte) []json.RawMessage {
	t.Helper()
	dir := t.TempDir()
	args := []string{"--json", "--raw-binary", "--size-prefixed", "--strict-json",
		"--root-type", schema.qualified(table, "."), schema.Path, "--"}
	for i, payload := range payloads {
		name := fmt.Sprintf("%06d.bin", i)
		if err := os.WriteFile(filepath.Join(dir, name), payload, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	run(t, dir, "apt-get install flatbuffers-compiler", "flatc", args...)
	texts := make([]json.RawMessage, len(payloads))
	for i := range payloads {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%06d.json", i)))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = text
	}
	return texts
}

// DiffPrinted compares what flatc printed with v; "" means equal. flatc prints
// doubles with 12 decimals and cannot print NaN or infinities as JSON: v must be
// finite, and its doubles are compared after the same rounding.
func DiffPrinted(l *wire.Layout, schema *FBS, table int, text json.RawMessage, v Value) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var printed map[string]any
	if err := decoder.Decode(&printed); err != nil {
		return fmt.Sprintf(": flatc printed no JSON: %v\n%s", err, text)
	}
	return diffPrintedTable(l, schema, table, printed, v)
}

func diffPrintedTable(l *wire.Layout, schema *FBS, table int, printed map[string]any, v Value) string {
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		got, there := printed[f.Name]
		want, ok := v[f.Name]
		if there != ok {
			return fmt.Sprintf(".%s: printed %v, in the value %v", f.Name, there, ok)
		}
		delete(printed, f.Name)
		if d := diffPrintedField(l, schema, f, got, want); ok && d != "" {
			return "." + f.Name + d
		}
	}
	if len(printed) > 0 {
		return fmt.Sprintf(": printed unknown fields %v", printed)
	}
	return ""
}

func diffPrintedField(l *wire.Layout, schema *FBS, f *wire.Field, got, want any) string {
	list, isList := want.([]any)
	if !isList {
		return diffPrintedOne(l, schema, f, got, want)
	}
	printed, ok := got.([]any)
	if !ok || len(printed) != len(list) {
		return fmt.Sprintf(": printed %v, want %d elements", got, len(list))
	}
	for i := range list {
		if d := diffPrintedOne(l, schema, f, printed[i], list[i]); d != "" {
			return fmt.Sprintf("[%d]%s", i, d)
		}
	}
	return ""
}

func diffPrintedOne(l *wire.Layout, schema *FBS, f *wire.Field, got, want any) string {
	equal := false
	switch want := want.(type) {
	case Value:
		nested, ok := got.(map[string]any)
		if !ok {
			break
		}
		return diffPrintedTable(l, schema, f.Ref, nested, want)
	case []byte:
		list, ok := got.([]any)
		equal = ok && len(list) == len(want)
		for i := 0; equal && i < len(want); i++ {
			equal = fmt.Sprint(list[i]) == strconv.Itoa(int(want[i]))
		}
	case float64:
		n, ok := got.(json.Number)
		equal = ok && sameAt12Decimals(n, want)
	case int64:
		equal = fmt.Sprint(got) == strconv.FormatInt(want, 10)
	case int32:
		equal = fmt.Sprint(got) == strconv.Itoa(int(want))
		if name, ok := got.(string); ok {
			number, known := schema.Enums[l.Enums[f.Ref].Name][name]
			equal = known && number == want
		}
	default:
		equal = got == want
	}
	if equal {
		return ""
	}
	return fmt.Sprintf(": printed %#v, want %#v", got, want)
}

func sameAt12Decimals(printed json.Number, want float64) bool {
	got, err := printed.Float64()
	if err != nil {
		return false
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(want, 'f', 12, 64), 64)
	return err == nil && (got == rounded || math.Abs(got-want) <= 1e-12)
}
