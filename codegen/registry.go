package codegen

import (
	"strings"

	"github.com/ignex/nova/wire"
	"github.com/ignex/nova/wire/control"
)

// registry returns wire-registry.json: what a consumer in another language
// needs beside backend.fbs to read frames. Everything stands in schema order.
func (in *input) registry() []byte {
	f := &out{}
	f.line("{\n  \"version\": %d,\n  \"fingerprint\": %s,", wire.Version, tsString(in.layout.Fingerprint))
	f.object("events", len(in.model.Events), func(i int) (string, any) {
		return in.model.Events[i].Name, in.model.Events[i].ID
	})
	f.line(",")
	f.object("control", len(control.Layout.Events), func(i int) (string, any) {
		return control.Layout.Events[i].Name, control.Layout.Events[i].ID
	})
	f.line(",")
	f.object("enums", len(in.model.Enums), func(i int) (string, any) {
		e := in.model.Enums[i]
		inner := &out{}
		inner.object(e.FbsName, len(e.Values), func(j int) (string, any) { return e.Values[j].Literal, e.Values[j].Number })
		return e.FbsName, nested(inner, e.FbsName)
	})
	f.line(",")
	f.object("calls", len(in.model.Calls), func(i int) (string, any) {
		c := in.model.Calls[i]
		inner := &out{}
		ends := [][2]string{{"request", c.Request.FbsName}, {"response", c.Response.FbsName}}
		inner.object(c.Name, 2, func(j int) (string, any) { return ends[j][0], tsString(ends[j][1]) })
		return c.Name, nested(inner, c.Name)
	})
	f.line("\n}")
	return f.Bytes()
}

// object writes a JSON member whose value is an object, indented once.
func (o *out) object(name string, n int, member func(i int) (string, any)) {
	if n == 0 {
		o.WriteString("  " + tsString(name) + ": {}")
		return
	}
	o.line("  %s: {", tsString(name))
	for i := range n {
		key, value := member(i)
		comma := ","
		if i == n-1 {
			comma = ""
		}
		o.line("    %s: %v%s", tsString(key), value, comma)
	}
	o.WriteString("  }")
}

// nested takes the object out of a member and indents it once more.
func nested(member *out, name string) string {
	value := strings.TrimPrefix(member.String(), "  "+tsString(name)+": ")
	return strings.ReplaceAll(value, "\n", "\n  ")
}
