package docs

import (
	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// tableType is the text of a table as a type.
func (p *pager) tableType(t *schema.Table) []part {
	if wraps(t) {
		f := last(t)
		parts := p.fieldType(f)
		if f.Presence != wire.Required {
			parts = append(parts, part{" or null", ""})
		}
		return parts
	}
	return []part{{t.Name, "#type-" + t.FbsName}}
}

func (p *pager) fieldType(f *schema.Field) []part {
	switch {
	case f.Map:
		return append([]part{{"map of ", ""}}, p.fieldType(last(f.Table))...)
	case f.Vector:
		return append([]part{{"array of ", ""}}, p.valueType(f)...)
	}
	return p.valueType(f)
}

var kindWords = map[wire.Kind]string{wire.Bool: "boolean", wire.String: "string", wire.Bytes: "bytes", wire.Float64: "number",
	wire.Float32: "number (float32)", wire.Int64: "integer"}

func (p *pager) valueType(f *schema.Field) []part {
	switch {
	case f.Enum != nil:
		return []part{{f.Enum.Name, "#type-" + f.Enum.FbsName}}
	case f.Union != nil:
		return []part{{f.Union.Name, "#type-" + f.Union.FbsName}}
	case f.Table != nil:
		return p.tableType(f.Table)
	case f.BigInt && f.Kind == wire.Int64:
		return []part{{"bigint", ""}}
	}
	if word := kindWords[f.Kind]; word != "" {
		return []part{{word, ""}}
	}
	return []part{{"integer (" + f.Kind.String() + ")", ""}}
}

func ruleWords(rules []schema.Rule) []string {
	var list []string
	for _, r := range rules {
		list = append(list, r.String())
	}
	return list
}

// optionWords tells the options of an event.
func optionWords(e *schema.Event) []string {
	var list []string
	key := ""
	if e.Key != nil {
		key = " of each " + e.Key.JSON
	}
	switch e.Delivery {
	case wire.DeliverMust:
		list = append(list, "never lost silently")
	case wire.DeliverDrop:
		list = append(list, "a slow client loses the oldest first")
	case wire.DeliverLatest:
		list = append(list, "a slow client gets the newest"+key)
	}
	if e.Inbound {
		list = append(list, "clients may send it")
	}
	switch e.Retain {
	case wire.RetainNone:
		list = append(list, "not kept in history")
	case wire.RetainLatest:
		list = append(list, "history keeps the newest"+key)
	}
	if e.Internal {
		list = append(list, "internal")
	}
	return list
}
