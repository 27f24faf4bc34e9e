package schema_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// What testdata/typebox/emit.mjs describes, worked out by hand.
const wantOrder = `{orderId:string ` + wantCustomer + ` billing:` + customer + `? previous:` + customer + `~ ` +
	`lines:[{sku:string qty:int64 tags:[enum(hot new sale)]}] side:enum(buy sell) lastSide:enum(buy sell)?~ note:string? ` +
	`seq:bigint photo:bytes? signature:bytes priority:int64(1 2 3) factor:double(0.5 1) always:bool ` +
	`state:enum(in-progress +1 ) only:enum(one) discounts:[double] flags:[bool]~ felt:int64~ maybe:string?~ oldStyle:double~ ` +
	`address:{street:string geo:{lon:double lat:double}} template:string}`

const (
	customer     = `{id:string name:string vip:bool rating:double}`
	wantCustomer = `customer:` + customer
)

// TestTypeBoxFromNPM writes one schema with the real TypeBox of both lines and
// reads the same model from both.
func TestTypeBoxFromNPM(t *testing.T) {
	docs := emitTypeBox(t)
	a, b := read(t, string(docs["a"])), read(t, string(docs["b"]))
	same(t, "source", a, b)
	same(t, "module", read(t, string(docs["moduleA"])), read(t, string(docs["moduleB"])))

	for name, want := range map[string]string{
		"order":        wantOrder,
		"customer":     customer,
		"order.closed": "{orderId:string by:" + customer + "}",
		"subset":       "{orderId:string side:enum(buy sell)}",
		"partial":      "{a:string? b:int64?}",
		"audit":        "{who:string}",
	} {
		found := false
		for _, e := range a.Events {
			if e.Name != name {
				continue
			}
			found = true
			if got := describeTable(e.Table); got != want {
				t.Errorf("event %s:\ngot  %s\nwant %s", name, got, want)
			}
			if e.Internal != (name == "audit") {
				t.Errorf("event %s: internal is %v", name, e.Internal)
			}
		}
		if !found {
			t.Errorf("no event %s", name)
		}
	}
	var tables []string
	for _, table := range a.Tables {
		tables = append(tables, table.Name)
	}
	want := []string{"Order", "Customer", "Line", "OrderAddress", "OrderAddressGeo", "OrderClosed", "Subset", "Partial_", "Audit",
		"GetOrderRequest", "Ping2Request", "Ping2Response"}
	if !reflect.DeepEqual(tables, want) {
		t.Errorf("tables %q\nwant   %q", tables, want)
	}
}

func same(t *testing.T, what string, a, b *schema.Model) {
	t.Helper()
	if a.Fingerprint() != b.Fingerprint() {
		t.Errorf("%s: fingerprints %s and %s", what, a.Fingerprint(), b.Fingerprint())
	}
	la, err := a.Layout()
	if err != nil {
		t.Fatal(err)
	}
	lb, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(la, lb) {
		t.Errorf("%s: layouts differ\n%+v\n%+v", what, la, lb)
	}
}

// The example in docs/schema.md gives what it says, with both lines.
func TestTypeBoxOfTheDocument(t *testing.T) {
	text := string(file(t, "../docs/schema.md"))
	_, rest, found := strings.Cut(text, "```js\n")
	program, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/schema.md has no js block")
	}
	for _, name := range []string{"typebox", "@sinclair/typebox"} {
		m := read(t, string(runTypeBox(t, strings.Replace(program, `"typebox"`, `"`+name+`"`, 1), "--input-type=module", "-")))
		const trade, quote = "{symbol:string price:double side:enum(buy sell)}", "{symbol:string bid:double}"
		if got := describeTable(tableOf(t, m, "trade")); got != trade {
			t.Errorf("%s: trade is %s, want %s", name, got, trade)
		}
		if q := tableOf(t, m, "quote"); q.Name != "Quote" || describeTable(q) != quote || m.Events[1].Delivery != wire.DeliverLatest {
			t.Errorf("%s: quote is %s %s, %+v", name, q.Name, describeTable(q), m.Events[1])
		}
		if len(m.Calls) != 1 || m.Calls[0].Response.Name != "Quote" {
			t.Errorf("%s: calls %+v", name, m.Calls)
		}
	}
}

// emitTypeBox runs emit.mjs.
func emitTypeBox(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	docs := map[string]json.RawMessage{}
	if err := json.Unmarshal(runTypeBox(t, "", "emit.mjs"), &docs); err != nil {
		t.Fatal(err)
	}
	return docs
}

// runTypeBox runs node where both lines of TypeBox are installed, and installs them
// when they are missing.
func runTypeBox(t *testing.T, stdin string, args ...string) []byte {
	t.Helper()
	dir := filepath.Join("testdata", "typebox")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "typebox", "package.json")); errors.Is(err, fs.ErrNotExist) {
		cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm ci (Node.js and npm are needed): %v\n%s", err, out)
		}
	}
	cmd := exec.Command("node", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %v: %v", args, err)
	}
	return out
}
