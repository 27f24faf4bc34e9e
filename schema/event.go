package schema

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ignex/nova/wire"
)

// Names of the protocol's own events: docs/protocol.md, "Control events". The
// first list is version 2; the second travels under capabilities.
var (
	controlEvents = strings.Fields(`hello welcome subscribe unsubscribe joinGroup leaveGroup snapshotRequest ping pong
		resume resumed rpcCall rpcResult`)
	extensionEvents = strings.Fields(`nova.attach nova.session nova.gap nova.ack nova.goaway nova.groups nova.subscribe
		nova.subscribed nova.rejected nova.unsubscribed nova.call nova.reply nova.cancel nova.auth nova.authed
		nova.watch nova.present nova.members`)

	eventName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// events reads the sections events and controlEvents.
func (r *reader) events() {
	ids := map[uint32]string{} // who has an id, with its place
	if !r.opts.AllowReserved {
		for _, name := range slices.Concat(controlEvents, extensionEvents) {
			ids[wire.EventID(name)] = quote(name) + " of the protocol"
		}
	}
	seen := map[string]int{}
	for _, section := range []string{"events", "controlEvents"} {
		list := r.root.get(section)
		if list == nil {
			continue
		}
		for _, m := range list.members {
			if strings.HasPrefix(m.key, "~") {
				continue
			}
			if line, dup := seen[m.key]; dup {
				if section == "controlEvents" && r.root.get("events").get(m.key) != nil {
					r.fail(m.value, fmt.Sprintf("the event %s stands in \"events\" too (line %d)", quote(m.key), line), "remove one of the two")
				}
				continue
			}
			seen[m.key] = m.value.line
			if !r.eventName(m) {
				continue
			}
			id := wire.EventID(m.key)
			if other, taken := ids[id]; taken {
				r.fail(m.value, fmt.Sprintf("the events %s and %s have the same id %#08x on the wire", other, quote(m.key), id), "rename the event")
				continue
			}
			ids[id] = fmt.Sprintf("%s (line %d)", quote(m.key), m.value.line)
			r.event(m, section == "controlEvents")
		}
	}
}

func (r *reader) eventName(m member) bool {
	if !eventName.MatchString(m.key) || m.broken {
		r.fail(m.value, "the name "+quote(m.key)+" is not 1 to 64 letters, digits, \"_\", \".\" or \"-\" of ASCII", "rename it")
		return false
	}
	if r.opts.AllowReserved {
		return true
	}
	if slices.Contains(controlEvents, m.key) || strings.HasPrefix(m.key, "nova.") {
		r.fail(m.value, "the name "+quote(m.key)+" is reserved for the protocol's own events", "rename the event")
		return false
	}
	return true
}

func (r *reader) event(m member, control bool) {
	e := &Event{Name: m.key, ID: wire.EventID(m.key), GoName: goName(m.key) + "Event", TSName: tsName(m.key),
		Doc: docOf(m.value), Pos: r.pos(m.value), Compress: true, Internal: control}
	r.model.Events = append(r.model.Events, e)
	c := r.peel(m.value)
	e.Table = r.rootTable(c, typeName(goName(m.key)), m.value, "an event")
	if e.Table == nil {
		return
	}
	if e.Doc == "" {
		e.Doc = e.Table.Doc
	}
	r.eventOptions(e, c)
}

// rootTable reads an event, a request or a response: an object, or anything else
// in a table that holds it.
func (r *reader) rootTable(c *core, path string, at *node, what string) *Table {
	if !r.report(c) {
		return nil
	}
	switch {
	case c.kind == coreNull || c.kind == coreUndefined:
		r.fail(at, fmt.Sprintf("%s of type %s has no binary form", what, c.kind), typeAdvice[c.kind.String()])
		return nil
	case c.kind == coreObject && !c.nullable && !c.optional:
		return r.table(c, path, path, at)
	}
	f := &Field{JSON: "value", GoName: "Value", WireName: "value", Pos: r.pos(at)}
	switch {
	case c.optional && c.nullable:
		f.Presence = wire.OptionalNullable
	case c.optional:
		f.Presence = wire.Optional
	case c.nullable:
		f.Presence = wire.Nullable
	}
	name := path
	named := r.match(c, path, path)
	if named.name != "" {
		name = typeName(named.name)
	}
	if c.kind == coreUnion && f.Presence == wire.Required {
		r.report(named)
		return r.unionBox(named, name, path, at)
	}
	if named.name != "" && f.Presence != wire.Required {
		name += "Nullable"
	}
	return r.wrapper(wrap{Box, named.node, f.Presence + 1}, named, name+"Box", func(t *Table) {
		if c.kind == coreUnion { // it can be absent in this box, and needs none inside
			r.report(named)
			f.Kind, f.Union = wire.Union, r.union(named, cmp.Or(typeName(named.name), path), path, at)
		} else {
			if r.endsInUnion(c) { // its box is not this one
				path += "Item"
			}
			r.typed(f, c, path, path, at)
		}
		t.add(f)
	})
}

// endsInUnion reports whether c is an array of unions without a name, or an
// array of such.
func (r *reader) endsInUnion(c *core) bool {
	for depth := 0; c.kind == coreArray && depth < maxOpen; depth++ {
		c = r.peel(c.items)
	}
	return c.kind == coreUnion && c.name == ""
}

func (r *reader) eventOptions(e *Event, c *core) {
	for _, o := range c.options {
		if slices.Contains(fieldOptions, o.key) && e.Table.Shape == Plain {
			r.fail(o.value, fmt.Sprintf("%q is an option of fields", o.key), "remove it, or move it to a property")
		}
	}
	if v := c.option("delivery"); v != nil {
		e.Delivery = map[string]wire.Delivery{"must": wire.DeliverMust, "drop": wire.DeliverDrop, "latest": wire.DeliverLatest}[v.text]
	}
	if v := c.option("retain"); v != nil {
		switch {
		case v.kind == nodeString:
			e.Retain = wire.RetainLatest
		case !v.yes:
			e.Retain = wire.RetainNone
		}
	}
	if v := c.option("inbound"); v != nil {
		e.Inbound = v.yes
	}
	if v := c.option("internal"); v != nil {
		e.Internal = e.Internal || v.yes
	}
	if v := c.option("compress"); v != nil {
		e.Compress = v.yes
	}
	if v := c.option("key"); v != nil {
		e.Key = r.key(e, v)
	}
}

// key finds the field that tells the values of an event apart.
func (r *reader) key(e *Event, v *node) *Field {
	var names []string
	if e.Table.Shape != Plain {
		r.fail(v, fmt.Sprintf("the event %s is no object and has no properties for a key", quote(e.Name)), "remove \"key\", or write an object")
		return nil
	}
	for _, f := range e.Table.Fields {
		if f.JSON != v.text || f.Kind == wire.UnionType {
			names = append(names, f.JSON)
			continue
		}
		ok := !f.Vector && f.Presence == wire.Required && (f.Kind == wire.String || f.Kind == wire.Int64 || f.Kind == wire.Enum || f.Kind >= wire.Int8 && f.Kind <= wire.Uint64)
		if !ok && f.Kind != 0 {
			r.fail(v, fmt.Sprintf("the key %s of the event %s is no required string, integer or enum", quote(v.text), quote(e.Name)), "choose another property")
			return nil
		}
		if e.Delivery != wire.DeliverLatest && e.Retain != wire.RetainLatest {
			r.warn(v, "\"key\" has no effect", `add "delivery": "latest" or "retain": "latest"`)
		}
		return f
	}
	r.fail(v, fmt.Sprintf("the key %s is no property of the event %s", quote(v.text), quote(e.Name)),
		r.suggest(v.text, names, "name a top-level property"))
	return nil
}

// calls reads the section calls.
func (r *reader) calls() {
	seen := map[string]bool{}
	list := r.root.get("calls")
	if list == nil {
		return
	}
	for _, m := range list.members {
		if seen[m.key] || strings.HasPrefix(m.key, "~") {
			continue
		}
		seen[m.key] = true
		switch {
		case !eventName.MatchString(m.key) || m.broken:
			r.fail(m.value, "the name "+quote(m.key)+" is not 1 to 64 letters, digits, \"_\", \".\" or \"-\" of ASCII", "rename it")
		case strings.HasPrefix(m.key, "nova.") && !r.opts.AllowReserved:
			r.fail(m.value, "the name "+quote(m.key)+" is reserved for the protocol", "rename the call")
		case m.value.kind != nodeObject:
			r.fail(m.value, "a call is "+m.value.describe(), `write {"request": …, "response": …}`)
		default:
			r.sameAsEvent(m)
			r.call(m)
		}
	}
}

func (r *reader) sameAsEvent(m member) {
	for _, section := range []string{"events", "controlEvents"} {
		if e := r.root.get(section).get(m.key); e != nil {
			r.fail(m.value, fmt.Sprintf("the call %s has the name of an event (line %d)", quote(m.key), e.line), "rename one of the two")
		}
	}
}

func (r *reader) call(m member) {
	pascal := goName(m.key)
	c := &Call{Name: m.key, GoName: pascal + "Call", TSName: tsName(m.key), Doc: docOf(m.value), Pos: r.pos(m.value)}
	r.model.Calls = append(r.model.Calls, c)
	for _, side := range m.value.members {
		if !slices.Contains(callKeys, side.key) && !strings.HasPrefix(side.key, "~") {
			r.fail(side.value, "unknown key "+quote(side.key)+" in a call", didYouMean(side.key, callKeys))
		}
	}
	if request := m.value.get("request"); request != nil {
		c.Request = r.rootTable(r.peel(request), typeName(pascal+"Request"), request, "a request")
	} else {
		r.fail(m.value, "the call has no \"request\"", `add "request": {"type":"object","properties":{}}`)
	}
	if response := m.value.get("response"); response != nil {
		c.Response = r.rootTable(r.peel(response), typeName(pascal+"Response"), response, "a response")
	} else {
		c.Response = r.emptyResponse(typeName(pascal+"Response"), m.value)
	}
}

// emptyResponse is the table of a call that answers nothing.
func (r *reader) emptyResponse(name string, at *node) *Table {
	props := &node{kind: nodeObject, parent: at, key: "properties"}
	empty := &node{kind: nodeObject, parent: at, key: "response", line: at.line, col: at.col,
		members: []member{{key: "properties", value: props}}}
	return r.table(&core{kind: coreObject, node: empty}, name, name, at)
}
