package schema

import (
	"strconv"
	"strings"
)

// nodeKind is the JSON type of a node.
type nodeKind uint8

const (
	nodeNull nodeKind = iota
	nodeBool
	nodeNumber
	nodeString
	nodeArray
	nodeObject
)

func (k nodeKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// node is one JSON value with its place. Members keep the order of the file:
// the order of properties numbers the fields.
type node struct {
	kind    nodeKind
	text    string // decoded string, or the number as written
	yes     bool   // value of a boolean
	broken  bool   // a string with half of a surrogate pair
	members []member
	byKey   map[string]*node // filled by get when there are many members
	items   []*node

	parent    *node
	key       string // inside parent, when that is an object
	index     int    // inside parent, when that is a list
	line, col int

	def   string // name, when the node stands under $defs, definitions or schemas
	entry bool   // a schema of the document itself: what "#" means inside it
}

type member struct {
	key       string
	broken    bool // the key holds half of a surrogate pair
	value     *node
	line, col int // of the key
}

// get returns the member of that key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	if len(n.members) > 16 { // a file of 100,000 definitions stays linear
		if n.byKey == nil {
			n.byKey = make(map[string]*node, len(n.members))
			for _, m := range n.members {
				if n.byKey[m.key] == nil {
					n.byKey[m.key] = m.value
				}
			}
		}
		return n.byKey[key]
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// str returns the value of a string member, "" when it is absent or no string.
func (n *node) str(key string) string {
	if v := n.get(key); v != nil && v.kind == nodeString {
		return v.text
	}
	return ""
}

// pointer returns the JSON pointer of the node (RFC 6901).
func (n *node) pointer() string {
	var parts []string
	for ; n != nil && n.parent != nil; n = n.parent {
		part := n.key
		if n.parent.kind == nodeArray {
			part = strconv.Itoa(n.index)
		}
		parts = append(parts, pointerEscaper.Replace(part))
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(parts[i])
	}
	return b.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// describe says what stands in the file, short enough for an error line.
func (n *node) describe() string {
	switch n.kind {
	case nodeString:
		return quote(n.text)
	case nodeNumber:
		return clip(n.text)
	case nodeBool:
		return strconv.FormatBool(n.yes)
	}
	return n.kind.String()
}

func quote(s string) string { return strconv.Quote(clip(s)) }

// clip bounds what a hostile file can put on an error line.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
