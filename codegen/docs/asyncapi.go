package docs

import (
	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

const apiAbout = "Frames are binary: an envelope and a FlatBuffer, see backend.fbs. The schemas here are of the JSON form, which the HTTP API and the command-line tools take and show."

// asyncAPI returns the AsyncAPI 3.0 document of a server that has the schema.
func (w *writer) asyncAPI() ([]byte, error) {
	m := w.model
	about := apiAbout
	if m.Doc != "" {
		about = m.Doc + "\n\n" + about
	}
	eventMessages, callMessages, operations := object{}, object{}, object{}
	for _, e := range m.Events {
		message, err := w.eventMessage(e)
		if err != nil {
			return nil, err
		}
		eventMessages.set(e.Name, message)
		operations.set("send."+e.Name, operation("send", "events", e.Name))
		if e.Inbound {
			operations.set("receive."+e.Name, operation("receive", "events", e.Name))
		}
	}
	for _, c := range m.Calls {
		for _, side := range []struct {
			name  string
			table *schema.Table
		}{{c.Name + ".request", c.Request}, {c.Name + ".response", c.Response}} {
			callMessages.set(side.name, w.message(side.name, "", side.table))
		}
		o := operation("receive", "calls", c.Name+".request")
		o.setText("description", c.Doc)
		reply := operation("", "calls", c.Name+".response")
		o.set("reply", reply)
		operations.set("call."+c.Name, o)
	}
	channels := object{}
	if len(eventMessages) > 0 {
		channels.set("events", object{{"address", "/ws"}, {"messages", eventMessages}})
	}
	if len(callMessages) > 0 {
		channels.set("calls", object{{"address", "/ws"}, {"messages", callMessages}})
	}
	return indented(object{
		{"asyncapi", "3.0.0"},
		{"info", object{{"title", m.Package}, {"version", m.Fingerprint()}, {"description", about}}},
		{"defaultContentType", "application/octet-stream"},
		{"channels", channels},
		{"operations", operations},
		{"components", object{{"schemas", w.schemas()}}},
		{"x-nova", object{{"generated", "by nova; do not edit"}, {"fingerprint", m.Fingerprint()}}},
	})
}

// operation is what a server does on a channel; a reply has no action.
func operation(action, channel, message string) object {
	o := object{}
	o.setText("action", action)
	o.set("channel", object{{"$ref", "#/channels/" + channel}})
	o.set("messages", []any{object{{"$ref", "#/channels/" + channel + "/messages/" + message}}})
	return o
}

func (w *writer) message(name, about string, t *schema.Table) object {
	o := object{{"name", name}}
	o.setText("description", about)
	o.set("payload", w.tableSchema(t))
	return o
}

func (w *writer) eventMessage(e *schema.Event) (object, error) {
	o := w.message(e.Name, e.Doc, e.Table)
	payload := w.example(e.Table)
	if fields, ok := payload.(object); ok || !wraps(e.Table) { // AsyncAPI takes objects only
		o.set("examples", []any{object{{"payload", fields}}})
	}
	options := object{{"id", e.ID}}
	options.setText("delivery", map[wire.Delivery]string{wire.DeliverMust: "must", wire.DeliverDrop: "drop", wire.DeliverLatest: "latest"}[e.Delivery])
	if e.Key != nil {
		options.set("key", e.Key.JSON)
	}
	options.set("inbound", e.Inbound)
	options.set("retain", map[wire.Retain]any{wire.RetainAll: true, wire.RetainNone: false, wire.RetainLatest: "latest"}[e.Retain])
	if e.Internal {
		options.set("internal", true)
	}
	o.set("x-nova", options)
	return o, nil
}

// schemas are the types that others refer to.
func (w *writer) schemas() object {
	o := object{}
	for _, t := range w.model.Tables {
		if t.Shape == schema.Plain {
			o.set(t.FbsName, w.objectSchema(t))
		}
	}
	for _, u := range w.model.Unions {
		o.set(u.FbsName, w.unionSchema(u))
	}
	for _, e := range w.model.Enums {
		o.set(e.FbsName, enumSchema(e))
	}
	return o
}
