package wire

import (
	"encoding/json"
	"fmt"
)

// The JSON form of a Layout is what a server answers at /schema: the generic
// page and the command read it. References stand by name.

type layoutJSON struct {
	Package     string      `json:"package"`
	Fingerprint string      `json:"fingerprint"`
	Enums       []enumJSON  `json:"enums"`
	Unions      []unionJSON `json:"unions,omitempty"`
	Tables      []tableJSON `json:"tables"`
	Events      []eventJSON `json:"events"`
	Calls       []callJSON  `json:"calls"`
}

type enumJSON struct {
	Name   string         `json:"name"`
	Values []enumItemJSON `json:"values"`
}

type enumItemJSON struct {
	Literal string `json:"literal"`
	Number  int32  `json:"number"`
	Removed bool   `json:"removed,omitempty"`
}

type unionJSON struct {
	Name    string            `json:"name"`
	Tag     string            `json:"tag"` // the property that tells the members apart
	Members []unionMemberJSON `json:"members"`
	Zero    int               `json:"zero,omitempty"` // what a missing one reads as; told, not read
}

type unionMemberJSON struct {
	ID    uint8  `json:"id"`
	Table string `json:"table"`
}

type constJSON struct {
	JSON  string          `json:"json"`
	Value json.RawMessage `json:"value"`
}

type tableJSON struct {
	Name         string      `json:"name"`
	Box          bool        `json:"box,omitempty"` // stands for its last field
	Consts       []constJSON `json:"consts,omitempty"`
	AllowUnknown bool        `json:"allowUnknown,omitempty"`
	Fields       []fieldJSON `json:"fields"`
}

type fieldJSON struct {
	Name       string `json:"name"`           // on the wire
	JSON       string `json:"json"`           // property
	Kind       string `json:"kind,omitempty"` // Kind.String; missing when deprecated
	Type       string `json:"type,omitempty"` // of kind enum, union or table
	Vector     bool   `json:"vector,omitempty"`
	Map        bool   `json:"map,omitempty"`
	Optional   bool   `json:"optional,omitempty"`
	Nullable   bool   `json:"nullable,omitempty"`
	BigInt     bool   `json:"bigint,omitempty"`
	Secret     bool   `json:"secret,omitempty"`
	Deprecated bool   `json:"deprecated,omitempty"`
}

type eventJSON struct {
	Name     string `json:"name"`
	ID       uint32 `json:"id"`
	Table    string `json:"table"`
	Delivery string `json:"delivery,omitempty"`
	Key      string `json:"key,omitempty"`
	Inbound  bool   `json:"inbound,omitempty"`
	Retain   string `json:"retain"`
	Internal bool   `json:"internal,omitempty"`
	Compress bool   `json:"compress"`
}

type callJSON struct {
	Name     string `json:"name"`
	Request  string `json:"request"`
	Response string `json:"response"`
}

var (
	deliveryNames = []string{"", "must", "drop", "latest"}
	retainNames   = []string{"all", "none", "latest"}
)

// MarshalJSON writes the layout for other programs.
func (l *Layout) MarshalJSON() ([]byte, error) {
	out := layoutJSON{Package: l.Package, Fingerprint: l.Fingerprint,
		Enums: []enumJSON{}, Tables: []tableJSON{}, Events: []eventJSON{}, Calls: []callJSON{}}
	for _, e := range l.Enums {
		item := enumJSON{Name: e.Name, Values: []enumItemJSON{}}
		for _, v := range e.Values {
			item.Values = append(item.Values, enumItemJSON(v))
		}
		out.Enums = append(out.Enums, item)
	}
	for _, u := range l.Unions {
		item := unionJSON{Name: u.Name, Tag: u.Tag, Zero: u.zero}
		for _, m := range u.Members {
			item.Members = append(item.Members, unionMemberJSON{m.ID, l.Tables[m.Table].Name})
		}
		out.Unions = append(out.Unions, item)
	}
	for _, t := range l.Tables {
		item := tableJSON{Name: t.Name, Box: t.Box, AllowUnknown: t.AllowUnknown, Fields: []fieldJSON{}}
		for _, c := range t.Consts {
			item.Consts = append(item.Consts, constJSON{c.JSON, json.RawMessage(c.Value)})
		}
		for i := range t.Fields {
			item.Fields = append(item.Fields, l.fieldOut(&t.Fields[i]))
		}
		out.Tables = append(out.Tables, item)
	}
	for _, e := range l.Events {
		out.Events = append(out.Events, eventJSON{Name: e.Name, ID: e.ID, Table: l.Tables[e.Table].Name,
			Delivery: deliveryNames[e.Delivery], Key: e.Key, Inbound: e.Inbound, Retain: retainNames[e.Retain],
			Internal: e.Internal, Compress: e.Compress})
	}
	for _, c := range l.Calls {
		out.Calls = append(out.Calls, callJSON{Name: c.Name, Request: l.Tables[c.Request].Name, Response: l.Tables[c.Response].Name})
	}
	return json.Marshal(out)
}

func (l *Layout) fieldOut(f *Field) fieldJSON {
	out := fieldJSON{Name: f.Name, JSON: f.JSON, Deprecated: f.Deprecated}
	if f.Deprecated {
		return out
	}
	out.Kind, out.Vector, out.Map, out.BigInt, out.Secret = f.Kind.String(), f.Vector, f.Map, f.BigInt, f.Secret
	out.Optional = f.Presence == Optional || f.Presence == OptionalNullable
	out.Nullable = f.Presence == Nullable || f.Presence == OptionalNullable
	switch f.Kind {
	case Enum:
		out.Type = l.Enums[f.Ref].Name
	case Struct:
		out.Type = l.Tables[f.Ref].Name
	case Union:
		out.Type = l.Unions[f.Ref].Name
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON writes and calls Init, so that the
// layout is ready for use.
func (l *Layout) UnmarshalJSON(data []byte) error {
	var in layoutJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := Layout{Package: in.Package, Fingerprint: in.Fingerprint}
	enums, tables, unions := map[string]int{}, map[string]int{}, map[string]int{}
	for i, e := range in.Enums {
		enums[e.Name] = i
		item := EnumType{Name: e.Name}
		for _, v := range e.Values {
			item.Values = append(item.Values, EnumValue(v))
		}
		out.Enums = append(out.Enums, item)
	}
	for i, t := range in.Tables {
		tables[t.Name] = i
	}
	for i, u := range in.Unions {
		unions[u.Name] = i
		item := UnionLayout{Name: u.Name, Tag: u.Tag}
		for _, m := range u.Members {
			table, err := refTo("table", tables, m.Table)
			if err != nil {
				return fmt.Errorf("union %s: %w", u.Name, err)
			}
			item.Members = append(item.Members, UnionMember{m.ID, table})
		}
		out.Unions = append(out.Unions, item)
	}
	for _, t := range in.Tables {
		item := Table{Name: t.Name, Box: t.Box, AllowUnknown: t.AllowUnknown}
		for _, c := range t.Consts {
			value, err := constantText(c.Value)
			if err != nil {
				return fmt.Errorf("table %s: property %s: %w", t.Name, c.JSON, err)
			}
			item.Consts = append(item.Consts, Const{c.JSON, value})
		}
		for _, f := range t.Fields {
			field, err := f.field(enums, unions, tables)
			if err != nil {
				return fmt.Errorf("table %s: field %s: %w", t.Name, f.Name, err)
			}
			item.Fields = append(item.Fields, field)
		}
		out.Tables = append(out.Tables, item)
	}
	if err := out.readEvents(&in, tables); err != nil {
		return err
	}
	*l = out
	return l.Init()
}

func (f *fieldJSON) field(enums, unions, tables map[string]int) (Field, error) {
	out := Field{Name: f.Name, JSON: f.JSON, Vector: f.Vector, Map: f.Map, BigInt: f.BigInt, Secret: f.Secret, Deprecated: f.Deprecated}
	if f.Deprecated {
		return out, nil
	}
	kind, err := pick("kind", kindNames[:], f.Kind)
	if err != nil {
		return out, err
	}
	out.Kind = Kind(kind)
	switch {
	case f.Optional && f.Nullable:
		out.Presence = OptionalNullable
	case f.Optional:
		out.Presence = Optional
	case f.Nullable:
		out.Presence = Nullable
	}
	switch out.Kind {
	case Enum:
		out.Ref, err = refTo("enum", enums, f.Type)
	case Struct:
		out.Ref, err = refTo("table", tables, f.Type)
	case Union:
		out.Ref, err = refTo("union", unions, f.Type)
	}
	return out, err
}

func (l *Layout) readEvents(in *layoutJSON, tables map[string]int) error {
	for _, e := range in.Events {
		table, err := refTo("table", tables, e.Table)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Name, err)
		}
		delivery, err := pick("delivery", deliveryNames, e.Delivery)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Name, err)
		}
		retain, err := pick("retain", retainNames, e.Retain)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Name, err)
		}
		l.Events = append(l.Events, Event{Name: e.Name, ID: e.ID, Table: table, Delivery: Delivery(delivery), Key: e.Key,
			Inbound: e.Inbound, Retain: Retain(retain), Internal: e.Internal, Compress: e.Compress})
	}
	for _, c := range in.Calls {
		request, err := refTo("table", tables, c.Request)
		if err != nil {
			return fmt.Errorf("call %s: %w", c.Name, err)
		}
		response, err := refTo("table", tables, c.Response)
		if err != nil {
			return fmt.Errorf("call %s: %w", c.Name, err)
		}
		l.Calls = append(l.Calls, Call{Name: c.Name, Request: request, Response: response})
	}
	return nil
}

// constantText checks the value of a constant: a string, a number or a boolean.
func constantText(value json.RawMessage) (string, error) {
	s := scanner{src: value}
	if err := s.scan(); err != nil {
		return "", err
	}
	switch s.tokens[0].kind {
	case tokString:
		return string(appendJSONString(nil, ToValid(textOf(value, s.tokens[0])))), nil
	case tokNumber, tokTrue, tokFalse:
		return string(value), nil
	}
	return "", fmt.Errorf("a constant is a string, a number or a boolean")
}

func refTo(what string, known map[string]int, name string) (int, error) {
	if i, ok := known[name]; ok {
		return i, nil
	}
	return 0, fmt.Errorf("%s %s does not exist", what, quote(name))
}

func pick(what string, known []string, name string) (int, error) {
	for i, k := range known {
		if k == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s %s is none of %s", what, quote(name), list(known))
}
