package codegen

import (
	"fmt"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// schema writes the layout as a literal, wrapped in a nova.Schema or bare.
func (g *goFile) schema() {
	if g.bare {
		g.line("\n// Layout describes these tables and events as data.")
		g.line("var Layout = newLayout()\n")
		g.line("func newLayout() *wire.Layout {\nl := &wire.Layout{")
		g.layoutFields()
		g.line("}\nif err := l.Init(); err != nil {\npanic(err)\n}\nreturn l\n}")
		return
	}
	g.line("\n// Schema is schema %s as hubs, servers and clients take it.", g.model.Package)
	g.line("var Schema = nova.NewSchema(&wire.Layout{")
	g.layoutFields()
	g.line("})")
}

func (g *goFile) layoutFields() {
	g.line("Package: %s,\nFingerprint: %s,", quote(g.layout.Package), quote(g.layout.Fingerprint))
	if len(g.layout.Enums) > 0 {
		g.line("Enums: []wire.EnumType{")
		for _, e := range g.layout.Enums {
			g.line("{Name: %s, Values: []wire.EnumValue{", quote(e.Name))
			for _, v := range e.Values {
				g.line("{Literal: %s, Number: %d%s},", quote(v.Literal), v.Number, flag("Removed", v.Removed))
			}
			g.line("}},")
		}
		g.line("},")
	}
	if len(g.layout.Unions) > 0 {
		g.line("Unions: []wire.UnionLayout{")
		for _, u := range g.layout.Unions {
			g.line("{Name: %s, Tag: %s, Members: []wire.UnionMember{", quote(u.Name), quote(u.Tag))
			for _, m := range u.Members {
				g.line("{ID: %d, Table: %d},", m.ID, m.Table)
			}
			g.line("}},")
		}
		g.line("},")
	}
	g.line("Tables: []wire.Table{")
	for i := range g.layout.Tables {
		t := &g.layout.Tables[i]
		g.line("{Name: %s%s%s%s, Fields: []wire.Field{", quote(t.Name), flag("AllowUnknown", t.AllowUnknown), flag("Box", t.Box), layoutConsts(t.Consts))
		for j := range t.Fields {
			g.line("%s,", layoutField(&t.Fields[j]))
		}
		g.line("}},")
	}
	g.line("},")
	if len(g.layout.Events) > 0 {
		g.line("Events: []wire.Event{")
		for i := range g.layout.Events {
			g.line("%s,", layoutEvent(&g.layout.Events[i]))
		}
		g.line("},")
	}
	if len(g.layout.Calls) > 0 {
		g.line("Calls: []wire.Call{")
		for _, c := range g.layout.Calls {
			g.line("{Name: %s, Request: %d, Response: %d},", quote(c.Name), c.Request, c.Response)
		}
		g.line("},")
	}
}

// flag returns ", Name: true" for a set field of a literal.
func flag(name string, set bool) string {
	if !set {
		return ""
	}
	return ", " + name + ": true"
}

// layoutConsts returns the constants of a table as a field of its literal.
func layoutConsts(consts []wire.Const) string {
	if len(consts) == 0 {
		return ""
	}
	var list []string
	for _, c := range consts {
		list = append(list, fmt.Sprintf("{JSON: %s, Value: %s}", quote(c.JSON), quote(c.Value)))
	}
	return ", Consts: []wire.Const{" + strings.Join(list, ", ") + "}"
}

func layoutField(f *wire.Field) string {
	if f.Deprecated {
		return fmt.Sprintf("{Name: %s, Deprecated: true}", quote(f.Name))
	}
	kinds := map[wire.Kind]string{wire.Bool: "Bool", wire.Int64: "Int64", wire.Float64: "Float64",
		wire.Enum: "Enum", wire.String: "String", wire.Bytes: "Bytes", wire.Struct: "Struct",
		wire.Int8: "Int8", wire.Int16: "Int16", wire.Int32: "Int32", wire.Uint8: "Uint8", wire.Uint16: "Uint16", wire.Uint32: "Uint32",
		wire.Uint64: "Uint64", wire.Float32: "Float32", wire.UnionType: "UnionType", wire.Union: "Union"}
	s := fmt.Sprintf("{Name: %s, JSON: %s, Kind: wire.%s", quote(f.Name), quote(f.JSON), kinds[f.Kind])
	s += flag("Vector", f.Vector) + flag("Map", f.Map)
	if f.Kind == wire.Enum || f.Kind == wire.Struct || f.Kind == wire.Union {
		s += fmt.Sprintf(", Ref: %d", f.Ref)
	}
	if f.Presence != wire.Required {
		names := map[wire.Presence]string{wire.Optional: "Optional", wire.Nullable: "Nullable", wire.OptionalNullable: "OptionalNullable"}
		s += ", Presence: wire." + names[f.Presence]
	}
	return s + flag("BigInt", f.BigInt) + flag("Secret", f.Secret) + "}"
}

func layoutEvent(e *wire.Event) string {
	s := fmt.Sprintf("{Name: %s, ID: %#08x, Table: %d", quote(e.Name), e.ID, e.Table)
	if e.Delivery != wire.DeliverDefault {
		names := map[wire.Delivery]string{wire.DeliverMust: "DeliverMust", wire.DeliverDrop: "DeliverDrop", wire.DeliverLatest: "DeliverLatest"}
		s += ", Delivery: wire." + names[e.Delivery]
	}
	if e.Key != "" {
		s += ", Key: " + quote(e.Key)
	}
	s += flag("Inbound", e.Inbound)
	if e.Retain != wire.RetainAll {
		names := map[wire.Retain]string{wire.RetainNone: "RetainNone", wire.RetainLatest: "RetainLatest"}
		s += ", Retain: wire." + names[e.Retain]
	}
	return s + flag("Internal", e.Internal) + flag("Compress", e.Compress) + "}"
}

// descriptors writes one value per event and call, or the event ids alone.
func (g *goFile) descriptors() {
	if g.bare {
		g.line("\n// The ids of the events on the wire.\nconst (")
		for _, e := range g.model.Events {
			g.line("%sID = %#08x // %s", e.Table.Name, e.ID, e.Name)
		}
		g.line(")")
		return
	}
	for _, e := range g.model.Events {
		g.line("")
		g.comment("", fmt.Sprintf("%s is event %s%s.", e.GoName, e.Name, options(e)), e.Doc)
		g.line("var %s = nova.NewEvent[%s](Schema, %s)", e.GoName, g.byName[e.Table].goStruct(), quote(e.Name))
	}
	for _, c := range g.model.Calls {
		g.line("")
		g.comment("", fmt.Sprintf("%s is call %s.", c.GoName, c.Name), c.Doc)
		g.line("var %s = nova.NewCall[%s, %s](Schema, %s)", c.GoName, g.byName[c.Request].goStruct(), g.byName[c.Response].goStruct(), quote(c.Name))
	}
}

// options tells an event's options in words, "" for none.
func options(e *schema.Event) string {
	var list []string
	switch e.Delivery {
	case wire.DeliverMust:
		list = append(list, "never lost silently")
	case wire.DeliverDrop:
		list = append(list, "the oldest dropped first")
	case wire.DeliverLatest:
		list = append(list, "the latest wins")
	}
	if e.Key != nil {
		list = append(list, "by "+e.Key.WireName)
	}
	if e.Inbound {
		list = append(list, "sent by clients too")
	}
	switch e.Retain {
	case wire.RetainNone:
		list = append(list, "not kept in history")
	case wire.RetainLatest:
		list = append(list, "the latest kept in history")
	}
	if e.Internal {
		list = append(list, "internal")
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// eventID names the id constant of the one event a table is the payload of.
func (g *goFile) eventID(t *table) string {
	for _, e := range g.model.Events {
		if e.Table == t.Table {
			return t.Name + "ID"
		}
	}
	return ""
}
