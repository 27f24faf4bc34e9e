package schema

import "github.com/ignex/nova/wire"

// Layout lowers the model to what bytes need and initialises it.
func (m *Model) Layout() (*wire.Layout, error) {
	l := &wire.Layout{Package: m.Package, Fingerprint: m.Fingerprint()}
	enums, tables := map[*Enum]int{}, map[*Table]int{}
	for i, e := range m.Enums {
		enums[e] = i
		et := wire.EnumType{Name: e.Name}
		for _, v := range e.Values {
			et.Values = append(et.Values, wire.EnumValue{Literal: v.Literal, Number: v.Number, Removed: v.Removed})
		}
		l.Enums = append(l.Enums, et)
	}
	unions := map[*Union]int{}
	for i, t := range m.Tables {
		tables[t] = i
	}
	for i, u := range m.Unions {
		unions[u] = i
		wu := wire.UnionLayout{Name: u.Name, Tag: u.Tag}
		for _, member := range u.Members {
			wu.Members = append(wu.Members, wire.UnionMember{ID: uint8(member.Number), Table: tables[member.Table]})
		}
		l.Unions = append(l.Unions, wu)
	}
	for _, t := range m.Tables {
		wt := wire.Table{Name: t.Name, AllowUnknown: t.AllowUnknown, Box: t.Shape == Box || t.Shape == Row}
		for _, c := range t.Consts {
			wt.Consts = append(wt.Consts, wire.Const{JSON: c.JSON, Value: c.Text})
		}
		for _, f := range t.Fields {
			wf := wire.Field{Name: f.WireName, JSON: f.JSON, Kind: f.Kind, Vector: f.Vector, Map: f.Map, Presence: f.Presence,
				BigInt: f.BigInt, Secret: f.Secret, Deprecated: f.Deprecated}
			switch f.Kind {
			case wire.Enum:
				wf.Ref = enums[f.Enum]
			case wire.Struct:
				wf.Ref = tables[f.Table]
			case wire.Union:
				wf.Ref = unions[f.Union]
			case wire.UnionType:
				wf.JSON = ""
			}
			wt.Fields = append(wt.Fields, wf)
		}
		l.Tables = append(l.Tables, wt)
	}
	for _, e := range m.Events {
		we := wire.Event{Name: e.Name, ID: e.ID, Table: tables[e.Table], Delivery: e.Delivery, Inbound: e.Inbound,
			Retain: e.Retain, Internal: e.Internal, Compress: e.Compress}
		if e.Key != nil {
			we.Key = e.Key.WireName
		}
		l.Events = append(l.Events, we)
	}
	for _, c := range m.Calls {
		l.Calls = append(l.Calls, wire.Call{Name: c.Name, Request: tables[c.Request], Response: tables[c.Response]})
	}
	if err := l.Init(); err != nil {
		return nil, err
	}
	return l, nil
}
