package codegen

import (
	"slices"
	"strings"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// codecs writes the codec of each table. Functions may refer to what follows,
// but text is read at once: the table inside comes first.
func (f *tsFile) codecs() {
	flat := func(t *table) bool { return t.height == 1 }
	for _, first := range []bool{true, false} {
		for _, t := range f.tables {
			if f.isText(t) && !f.isInline(t) && flat(t) == first {
				f.line("\nconst $%s: %s<%s> = %s;", t.Name, f.name("Table"), t.Name, f.text(t))
			}
		}
	}
	for _, t := range f.tables {
		if !f.isText(t) {
			f.table(t)
		}
	}
}

// isText reports whether a table is written as text, which knows no absent
// fields, nothing but methods, and one kind of table inside, itself flat text.
func (f *tsFile) isText(t *table) bool {
	if !f.compact || len(t.fields) == 0 || len(t.fields) < len(t.Fields) {
		return false
	}
	var inner *table
	return !slices.ContainsFunc(t.fields, func(x field) bool {
		if x.target != nil {
			second := inner != nil && inner != x.target
			inner = x.target
			return second || inner.height > 1 || !f.isText(inner) || x.absent()
		}
		return x.absent() || tsFunction(x) != "" || !tsIdentifier(x.JSON)
	})
}

// isInline reports whether a table stands where it is used: in one event alone.
func (f *tsFile) isInline(t *table) bool {
	return f.isText(t) && len(t.roots) == 1 && !t.nested && !t.element
}

// tableExpr names a table or, of an inline one, is it.
func (f *tsFile) tableExpr(t *table) string {
	if f.isInline(t) {
		return f.text(t)
	}
	return "$" + t.Name
}

// isTextEvent reports whether an event is its name and the text of its table.
func (f *tsFile) isTextEvent(e *schema.Event) bool {
	return f.isInline(f.byName[e.Table]) && e.ID == wire.EventID(e.Name) && tsOptions(e) == ""
}

// isTextEventTable reports whether a table stands in a text event alone.
func (f *tsFile) isTextEventTable(t *table) bool {
	return f.isInline(t) && slices.ContainsFunc(f.model.Events, func(e *schema.Event) bool {
		return f.byName[e.Table] == t && f.isTextEvent(e)
	})
}

// text writes a table as a call of defineFields.
func (f *tsFile) text(t *table) string {
	return "/* #__PURE__ */ " + f.name("defineFields") + "<" + t.Name + ">(" + textOf(t) + ")"
}

// textOf returns the arguments that make a table: the text "property:method ...",
// where no method is string, and the table inside.
func textOf(t *table) string {
	var fields []string
	inner := ""
	for _, x := range t.fields {
		fields = append(fields, strings.TrimSuffix(x.JSON+":"+tsMethod(x), ":string"))
		if x.target != nil {
			inner = ", $" + x.target.Name
		}
	}
	return tsString(strings.Join(fields, " ")) + inner
}
