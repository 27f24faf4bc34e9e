package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ignex/nova/wire"
)

// Fingerprint names the schema as far as bytes go: 16 hex digits, the first 8
// bytes of the SHA-256 of these lines, each ended by a line feed:
//
//	nova 2
//	e <event> <table>                                  by event name
//	t <table>                                          by table name
//	 <id> <wire name> <type> <r|o|n>                   by id, removed fields left out
//	u <union> <table>=<number> <table>=<number> …     by union name, then number
//	n <enum> <literal>=<value> <literal>=<value> …     by enum name, then value, removed literals left out
//
// Names sort by bytes. A type is string, double, int64 (bigint too), bool,
// bytes, int8 … uint64, float, enum:NAME, union:NAME or table:NAME, in brackets
// when it is a vector: [double], [table:Quote]. The field of a union's type,
// <name>_type, is of type uniontype. r is required, o optional (also when it is nullable too), n
// nullable. A literal that holds anything but ASCII letters, digits and
// - _ . + : / is written as a Go string literal in ASCII. Options and
// constraints are not part of it.
func (m *Model) Fingerprint() string {
	h := sha256.New()
	m.writeIdentity(h)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (m *Model) writeIdentity(w io.Writer) {
	fmt.Fprintln(w, "nova 2")
	for _, e := range sortedBy(m.Events, func(e *Event) string { return e.Name }) {
		fmt.Fprintf(w, "e %s %s\n", e.Name, e.Table.Name)
	}
	for _, t := range sortedBy(m.Tables, func(t *Table) string { return t.Name }) {
		fmt.Fprintf(w, "t %s\n", t.Name)
		for _, f := range t.Fields {
			if !f.Deprecated {
				fmt.Fprintf(w, " %d %s %s %s\n", f.ID, f.WireName, f.wireType(), presenceLetter(f.Presence))
			}
		}
	}
	for _, u := range sortedBy(m.Unions, func(u *Union) string { return u.Name }) {
		fmt.Fprintf(w, "u %s", u.Name)
		for _, member := range u.Members {
			fmt.Fprintf(w, " %s=%d", member.Table.Name, member.Number)
		}
		fmt.Fprintln(w)
	}
	for _, e := range sortedBy(m.Enums, func(e *Enum) string { return e.Name }) {
		fmt.Fprintf(w, "n %s", e.Name)
		for _, v := range e.Values {
			if !v.Removed {
				fmt.Fprintf(w, " %s=%d", identityLiteral(v.Literal), v.Number)
			}
		}
		fmt.Fprintln(w)
	}
}

func sortedBy[T any](list []T, key func(T) string) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return list
}

func (f *Field) wireType() string {
	s := f.Kind.String()
	switch f.Kind {
	case wire.Enum:
		s = "enum:" + f.Enum.Name
	case wire.Union:
		s = "union:" + f.Union.Name
	case wire.Struct:
		s = "table:" + f.Table.Name
	}
	if f.Vector {
		return "[" + s + "]"
	}
	return s
}

func presenceLetter(p wire.Presence) string {
	switch p {
	case wire.Required:
		return "r"
	case wire.Nullable:
		return "n"
	}
	return "o"
}

func identityLiteral(s string) string {
	for _, r := range s {
		if !isAlnum(r) && !strings.ContainsRune("-_.+:/", r) {
			return strconv.QuoteToASCII(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
