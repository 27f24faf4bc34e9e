package schema

// relocate gives the nodes of a document that was made from something else the
// lines of what they were made from.
func relocate(root *node, places map[string]Pos) {
	if places == nil {
		return
	}
	var visit func(n *node, at Pos)
	visit = func(n *node, at Pos) {
		if own, ok := places[n.pointer()]; ok {
			at = own
		}
		n.line, n.col = at.Line, at.Column
		for _, m := range n.members {
			visit(m.value, at)
		}
		for _, item := range n.items {
			visit(item, at)
		}
	}
	visit(root, Pos{Line: 1, Column: 1})
}

// placeOf returns where what a node says was written.
func (d *document) placeOf(n *node) Pos {
	for at := n; at != nil; at = at.parent {
		if own, ok := d.places[at.pointer()]; ok {
			return own
		}
	}
	return Pos{File: d.file, Line: 1, Column: 1}
}
