package schema_test

import (
	"encoding/json"
	"fmt"
	"go/token"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

// oneTable returns a document of one event with those properties, all strings.
func oneTable(properties ...string) string {
	var fields []string
	for _, p := range properties {
		key, _ := json.Marshal(p)
		fields = append(fields, string(key)+`:{"type":"string"}`)
	}
	return `{"package":"p","events":{"e":{"type":"object","properties":{` + strings.Join(fields, ",") + `}}}}`
}

func TestFieldNames(t *testing.T) {
	for _, c := range []struct{ json, goName, wire, fbs string }{
		{"symbol", "Symbol", "symbol", "symbol"},
		{"bidSize", "BidSize", "bid_size", "bid_size"},
		{"id", "ID", "id", "id"},
		{"userId", "UserID", "user_id", "user_id"},
		{"userID", "UserID", "user_id", "user_id"},
		{"userIDs", "UserIDs", "user_ids", "user_ids"},
		{"ids", "IDs", "ids", "ids"},
		{"first_name", "FirstName", "first_name", "first_name"},
		{"imageUrl", "ImageURL", "image_url", "image_url"},
		{"HTTPServer", "HTTPServer", "http_server", "http_server"},
		{"rawJson", "RawJSON", "raw_json", "raw_json"},
		{"host-fqdn", "HostFqdn", "host_fqdn", "host_fqdn"},
		{"a b", "AB", "a_b", "a_b"},
		{"a/b~c", "ABC", "a_b_c", "a_b_c"},
		{"größe", "Größe", "gr_u00f6__u00df_e", "gr_u00f6__u00df_e"},
		{"日本", "X日本", "_u65e5__u672c_", "_u65e5__u672c_"},
		{"1", "X1", "_1", "n_1_"},
		{"utf8", "UTF8", "utf8", "utf8"},
		{"sha256Sum", "Sha256Sum", "sha256_sum", "sha256_sum"},
		{"+", "U002b", "_u002b_", "_u002b_"},
		{"_id", "ID", "id", "id"},
		{"a__b", "AB", "a_b", "a_b"},
		{"String", "String_", "string", "string"},
		{"validate", "Validate_", "validate", "validate"},
		{"checkInt64", "CheckInt64_", "check_int64", "check_int64"},
		{"type", "Type", "type", "type"},
		{"table", "Table", "table", "table_"},
		{"init", "Init", "init", "init_"},
		{"builder", "Builder", "builder", "builder_"},
		{"bb", "Bb", "bb", "bb_"},
		{"flatbuffers", "Flatbuffers", "flatbuffers", "flatbuffers_"},
		{"constructor", "Constructor", "constructor", "constructor_"},
		{"eval", "Eval", "eval", "eval_"},
		{"$ref", "Ref", "ref", "ref"},
		{"toString", "ToString", "to_string", "to_string"},
	} {
		f := read(t, oneTable(c.json)).Tables[0].Fields[0]
		if f.JSON != c.json || f.GoName != c.goName || f.WireName != c.wire || f.FbsName != c.fbs {
			t.Errorf("%q: Go %q, wire %q, fbs %q; want %q %q %q", c.json, f.GoName, f.WireName, f.FbsName, c.goName, c.wire, c.fbs)
		}
	}
}

// flatc gives a vector x the accessor xLength, which a field x_length takes.
func TestAccessorNames(t *testing.T) {
	m := read(t, `{"package":"p","events":{"e":{"type":"object","properties":{
		"items":{"type":"array","items":{"type":"string"}},"itemsLength":{"type":"integer"},"nameLength":{"type":"integer"},"name":{"type":"string"}}}}}`)
	var got []string
	for _, f := range m.Tables[0].Fields {
		got = append(got, f.FbsName)
	}
	if want := []string{"items", "items_length_", "name_length", "name"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEventNames(t *testing.T) {
	for _, c := range []struct{ event, goName, ts, table string }{
		{"quote", "QuoteEvent", "quote", "Quote"},
		{"bigVal", "BigValEvent", "bigVal", "BigVal"},
		{"user.created", "UserCreatedEvent", "userCreated", "UserCreated"},
		{"user-created", "UserCreatedEvent", "userCreated", "UserCreated"},
		{"Quote", "QuoteEvent", "quote", "Quote"},
		{"HTTPError", "HTTPErrorEvent", "httpError", "HTTPError"},
		{"1m", "X1mEvent", "_1m", "X1m"},
		{"class", "ClassEvent", "class_", "Class"},
		{"then", "ThenEvent", "then_", "Then"},
		{"constructor", "ConstructorEvent", "constructor_", "Constructor"},
		{"toString", "ToStringEvent", "toString_", "ToString"},
		{"schema", "SchemaEvent", "schema_", "Schema_"},
		{"record", "RecordEvent", "record", "Record_"},
		{"default", "DefaultEvent", "default_", "Default"},
		{"-", "U002dEvent", "_u002d_", "U002d"},
		{"a1", "A1Event", "a1", "A1"},
	} {
		m := read(t, `{"package":"p","events":{"`+c.event+`":{"type":"object","properties":{}}}}`)
		e := m.Events[0]
		if e.GoName != c.goName || e.TSName != c.ts || e.Table.Name != c.table {
			t.Errorf("%q: Go %q, TypeScript %q, table %q; want %q %q %q", c.event, e.GoName, e.TSName, e.Table.Name, c.goName, c.ts, c.table)
		}
	}
}

func TestTypeNames(t *testing.T) {
	m := read(t, `{"package":"p","$defs":{"line item":{"type":"object","properties":{"sku":{"type":"string"}}},
		"Größe":{"enum":["s","m"]}, "Many":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}},
		"events":{"order":{"type":"object","properties":{
			"lines":{"type":"array","items":{"$ref":"line item"}}, "size":{"$ref":"Größe"}, "many":{"$ref":"Many"},
			"notes":{"type":"array","items":{"type":"object","properties":{"by":{"type":"object","properties":{"id":{"type":"string"}}}}}},
			"states":{"type":"array","items":{"enum":["a","b"]}}, "anon":{"$id":"T7","type":"object","properties":{"z":{"type":"string"}}},
			"ided":{"$id":"Known","type":"object","properties":{"k":{"type":"string"}}}}}},
		"calls":{"get-order":{"request":{"type":"object","properties":{"q":{"type":"number"}}}}}}`)
	var got []string
	for _, table := range m.Tables {
		got = append(got, table.Name)
	}
	want := []string{"Order", "LineItem", "ManyItem", "OrderNotesItem", "OrderNotesItemBy", "OrderAnon", "Known", "GetOrderRequest", "GetOrderResponse"}
	if !slices.Equal(got, want) {
		t.Errorf("tables\n%q, want\n%q", got, want)
	}
	if e := m.Enums[0]; e.Name != "Größe" || e.FbsName != "Gr_u00f6__u00df_e" {
		t.Errorf("enum %q, fbs %q", e.Name, e.FbsName)
	}
	if e := m.Enums[1]; e.Name != "OrderStates" {
		t.Errorf("enum %q", e.Name)
	}
}

func enumDoc(literals []string) string {
	list, _ := json.Marshal(literals)
	return `{"package":"p","$defs":{"V":{"enum":` + string(list) + `}},"events":{"e":{"type":"object","properties":{"v":{"$ref":"V"}}}}}`
}

func TestLiteralNames(t *testing.T) {
	for _, c := range []struct{ literal, goName, fbs string }{
		{"buy", "VBuy", "buy"},
		{"in-progress", "VInProgress", "in_progress"},
		{"GPL-3.0+", "VGPL3_0Plus", "GPL_3_0_"},
		{"+1", "VPlus1", "_1"},
		{"-1", "VMinus1", "_1"},
		{"quarry blast", "VQuarryBlast", "quarry_blast"},
		{"mb_lg", "VMbLg", "mb_lg"},
		{"", "VEmpty", "empty"},
		{"null", "VNull", "null_"},
		{"user_id", "VUserID", "user_id"},
		{"1.5", "V1_5", "_1_5"},
		{"größe", "VGröße", "gr_u00f6__u00df_e"},
		{"---", "V__u002d__u002d__u002d_", "___"},
	} {
		v := read(t, enumDoc([]string{c.literal})).Enums[0].Values[0]
		if v.GoName != c.goName || v.FbsName != c.fbs {
			t.Errorf("%q: Go %q, fbs %q; want %q, %q", c.literal, v.GoName, v.FbsName, c.goName, c.fbs)
		}
	}
}

var fbsIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// TestLiteralNamesAnyOrder gives an enum of awkward literals in many orders:
// every name is an identifier, no two are alike, and none depends on the order.
func TestLiteralNamesAnyOrder(t *testing.T) {
	literals := []string{"in-progress", "in_progress", "in progress", "InProgress", "GPL-3.0+", "GPL-3.0", "GPL-30", "+1", "-1", "1", " 1",
		"quarry blast", "", "empty", "null", "null_", "Null", "hot", "HOT", "Hot", "größe", "grö-ße", "日本", "\u2028", "\x00", "<", "<=", "a.b", "a/b",
		"type", "func", "true", "NONE", "👍", "👎", "_", "__"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	first := map[string][2]string{}
	for range 50 {
		rng.Shuffle(len(literals), func(i, j int) { literals[i], literals[j] = literals[j], literals[i] })
		got := map[string][2]string{}
		goNames, fbsNames := map[string]string{}, map[string]string{}
		for _, v := range read(t, enumDoc(literals)).Enums[0].Values {
			if !token.IsIdentifier(v.GoName) || !token.IsExported(v.GoName) || !fbsIdentifier.MatchString(v.FbsName) {
				t.Errorf("%q: Go %q, fbs %q", v.Literal, v.GoName, v.FbsName)
			}
			if goNames[v.GoName]+fbsNames[v.FbsName] != "" {
				t.Errorf("%q and %q, %q: Go %q, fbs %q", v.Literal, goNames[v.GoName], fbsNames[v.FbsName], v.GoName, v.FbsName)
			}
			goNames[v.GoName], fbsNames[v.FbsName] = "-"+v.Literal, "-"+v.Literal
			got[v.Literal] = [2]string{v.GoName, v.FbsName}
		}
		if len(first) == 0 {
			first = got
		}
		if !maps.Equal(first, got) {
			t.Fatalf("names depend on the order:\n%v\n%v", first, got)
		}
	}
}

// TestNamesAreIdentifiers gives random property names: each is refused, or every
// name made of it is an identifier where it will stand.
func TestNamesAreIdentifiers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	alphabet := []rune("aBcDZ09_- ./$öÖßǅ日\u0301٣👍\u200d\"\\<")
	for range 3000 {
		name := make([]rune, 1+rng.IntN(6))
		for i := range name {
			name[i] = alphabet[rng.IntN(len(alphabet))]
		}
		m, err := schema.Read("s.json", []byte(oneTable(string(name))), schema.Options{})
		if err != nil {
			t.Errorf("%q: %v", string(name), err)
			continue
		}
		f := m.Tables[0].Fields[0]
		if !token.IsIdentifier(f.GoName) || !token.IsExported(f.GoName) || !fbsIdentifier.MatchString(f.WireName) || !fbsIdentifier.MatchString(f.FbsName) {
			t.Errorf("%q: Go %q, wire %q, fbs %q", string(name), f.GoName, f.WireName, f.FbsName)
		}
	}
}

func TestTooManyFields(t *testing.T) {
	doc := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("f%d", i))
		}
		return strings.ReplaceAll(oneTable(names...), `"string"`, `"number"`)
	}
	read(t, doc(4090)) // 8 bytes each, below 32768
	_, err := schema.Read("s.json", []byte(doc(4096)), schema.Options{})
	if err == nil || !strings.Contains(err.Error(), "s.json:1:30: /events/e: the object E is too big for one table") {
		t.Errorf("4096 doubles: %v", err)
	}
}

// Types are told by their tables, not by functions of one name: an event may be
// called like what used to be an encoder.
func TestNamesOfNoFunction(t *testing.T) {
	readWith(t, `{"package":"p","events":{"encodeA":{"$ref":"A"}, "decodeA":{"$ref":"A"}},"$defs":{"A":{"type":"object","properties":{}}}}`, nil)
}

// A clash of names between an event and what stands inside it is one error, not
// a recursion too.
func TestClashInsideIsNoRecursion(t *testing.T) {
	_, err := schema.Read("s.json", []byte(`{"package":"p","$defs":{"Q":{"type":"object","properties":{"v":{"type":"integer"}}}},
		"events":{"q":{"type":"object","properties":{"p":{"$ref":"Q"}}}}}`), schema.Options{})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "the type name Q is taken by another schema") {
		t.Error(err)
	}
	_, err = schema.Read("s.json", []byte(`{"package":"p","$defs":{"q":{"type":"object","properties":{}},"Q":{"type":"object","properties":{"v":{"type":"integer"}}}},
		"events":{"a":{"$ref":"q"},"b":{"$ref":"Q"}}}`), schema.Options{})
	if err == nil || !strings.HasSuffix(err.Error(), "; rename one of the two") {
		t.Error(err)
	}
}
