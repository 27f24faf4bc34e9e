package golden_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/examples/seismic"
	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// codec is what every generated Go type offers on its pointer.
type codec interface {
	AppendNova(dst []byte) ([]byte, error)
	UnmarshalNova(payload []byte) error
}

// subject is one schema under judgement.
type subject struct {
	name   string
	layout *wire.Layout
	schema *golden.FBS
	files  codegen.Files
	// types makes generated Go values by the name of their table; empty for a
	// schema without a Go package.
	types map[string]func() codec
}

var goTypes = map[string]map[string]func() codec{
	"market": {
		"Quote":             func() codec { return new(market.Quote) },
		"Trade":             func() codec { return new(market.Trade) },
		"PortfolioSnapshot": func() codec { return new(market.PortfolioSnapshot) },
		"Complex":           func() codec { return new(market.Complex) },
		"Order":             func() codec { return new(market.Order) },
		"BigVal":            func() codec { return new(market.BigVal) },
		"Chat":              func() codec { return new(market.Chat) },
		"GetQuoteRequest":   func() codec { return new(market.GetQuoteRequest) },
	},
	"seismic": {
		"Earthquake": func() codec { return new(seismic.Earthquake) },
	},
	"control": {
		"Hello":             func() codec { return new(control.Hello) },
		"Welcome":           func() codec { return new(control.Welcome) },
		"Subscribe":         func() codec { return new(control.Subscribe) },
		"Unsubscribe":       func() codec { return new(control.Unsubscribe) },
		"JoinGroup":         func() codec { return new(control.JoinGroup) },
		"LeaveGroup":        func() codec { return new(control.LeaveGroup) },
		"SnapshotRequest":   func() codec { return new(control.SnapshotRequest) },
		"Ping":              func() codec { return new(control.Ping) },
		"Pong":              func() codec { return new(control.Pong) },
		"Resume":            func() codec { return new(control.Resume) },
		"Resumed":           func() codec { return new(control.Resumed) },
		"RpcCall":           func() codec { return new(control.RpcCall) },
		"RpcResult":         func() codec { return new(control.RpcResult) },
		"Call":              func() codec { return new(control.Call) },
		"Reply":             func() codec { return new(control.Reply) },
		"Cancel":            func() codec { return new(control.Cancel) },
		"TopicSubscribe":    func() codec { return new(control.TopicSubscribe) },
		"TopicSubscribed":   func() codec { return new(control.TopicSubscribed) },
		"TopicRejected":     func() codec { return new(control.TopicRejected) },
		"TopicUnsubscribed": func() codec { return new(control.TopicUnsubscribed) },
		"Attach":            func() codec { return new(control.Attach) },
		"Session":           func() codec { return new(control.Session) },
		"Gap":               func() codec { return new(control.Gap) },
		"Ack":               func() codec { return new(control.Ack) },
		"Goaway":            func() codec { return new(control.Goaway) },
		"Auth":              func() codec { return new(control.Auth) },
		"Authed":            func() codec { return new(control.Authed) },
		"Groups":            func() codec { return new(control.Groups) },
	},
	"kinds": {},
}

var schemaFiles = map[string]string{
	"market":  "market/schema.json",
	"seismic": "examples/seismic/schema.json",
	"control": "wire/control/schema.json",
	"kinds":   "codegen/testdata/kinds/schema.json",
}

// load reads one schema: the built-in market, the real one of the earthquakes,
// the control events, or one that has every kind of field in every presence.
func load(t testing.TB, name string) *subject {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Root(t), schemaFiles[name]))
	if err != nil {
		t.Fatal(err)
	}
	model, err := schema.Read(schemaFiles[name], text, schema.Options{AllowReserved: name == "control"})
	if err != nil {
		t.Fatal(err)
	}
	layout, err := model.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if err := layout.Init(); err != nil {
		t.Fatal(err)
	}
	files, err := codegen.Generate(model, codegen.Options{GoBare: name == "control", TSCompact: name == "control"})
	if err != nil {
		t.Fatal(err)
	}
	s := &subject{name: name, layout: layout, files: files, types: goTypes[name]}
	s.schema = golden.WriteFBS(t, s.file(t, "backend.fbs"))
	return s
}

// each runs fn for every schema.
func each(t *testing.T, fn func(t *testing.T, s *subject)) {
	for _, name := range []string{"market", "seismic", "control", "kinds"} {
		t.Run(name, func(t *testing.T) { fn(t, load(t, name)) })
	}
}

func (s *subject) file(t testing.TB, name string) []byte {
	t.Helper()
	for _, f := range s.files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("no %s among the generated files", name)
	return nil
}

// roots returns the tables that a frame or a call can hold.
func (s *subject) roots() []int {
	seen := map[int]bool{}
	var roots []int
	add := func(table int) {
		if !seen[table] {
			seen[table] = true
			roots = append(roots, table)
		}
	}
	for _, e := range s.layout.Events {
		add(e.Table)
	}
	for _, c := range s.layout.Calls {
		add(c.Request)
		add(c.Response)
	}
	return roots
}

// generated returns a new Go value for the table, or nil when the schema has no
// Go package; it fails when the package lacks the type.
func (s *subject) generated(t testing.TB, table int) codec {
	t.Helper()
	if len(s.types) == 0 {
		return nil
	}
	make := s.types[s.layout.Tables[table].Name]
	if make == nil {
		t.Fatalf("this test knows no Go type for %s.%s", s.name, s.layout.Tables[table].Name)
	}
	return make()
}
