package server

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/ignex/nova"
)

const (
	jsonType  = "application/json"
	linesType = "application/x-ndjson"
)

// needPost refuses what is no POST.
func needPost(w http.ResponseWriter, r *http.Request) *publishError {
	if r.Method == http.MethodPost {
		return nil
	}
	w.Header().Set("Allow", http.MethodPost)
	bad := refuse(nova.Invalid, "", "method %s; use POST", r.Method)
	bad.status = http.StatusMethodNotAllowed
	return bad
}

// needType refuses a body that does not name one of these types. Naming it keeps other
// sites' pages out: without it a browser sends a cross-origin POST unasked.
func needType(r *http.Request, types ...string) (string, *publishError) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if !slices.Contains(types, kind) {
		return "", refuse(nova.Invalid, "", "content type %q; send %s", kind, strings.Join(types, " or "))
	}
	return kind, nil
}

// publishRequest is one request after reading.
type publishRequest struct {
	event  string
	target nova.Target
	data   []byte
	key    string
}

func readRequest(body []byte) (publishRequest, *publishError) {
	var q publishRequest
	members, bad := readObject(body, "", "event", "target", "data", "idempotencyKey")
	if bad != nil {
		return q, bad
	}
	if q.event, bad = readName(members, "", "event"); bad != nil {
		return q, bad
	}
	if q.event == "" {
		return q, refuse(nova.Invalid, "/event", "the event is missing; name one of the schema")
	}
	if q.data = members["data"]; q.data == nil {
		return q, refuse(nova.Invalid, "/data", "the data is missing; write the event's payload as an object")
	}
	if q.key, bad = readName(members, "", "idempotencyKey"); bad != nil {
		return q, bad
	}
	if len(q.key) > maxIdempotencyKey {
		return q, refuse(nova.Invalid, "/idempotencyKey", "the key has %d bytes; at most %d are accepted", len(q.key), maxIdempotencyKey)
	}
	if target := members["target"]; target != nil && string(target) != "null" {
		q.target, bad = readTarget(target)
	}
	return q, bad
}

var targetKinds = []struct {
	name string
	kind nova.TargetKind
}{
	{"topic", nova.ToTopic}, {"group", nova.ToGroup}, {"user", nova.ToUser},
	{"userGroup", nova.ToUserGroup}, {"client", nova.ToClient},
}

func readTarget(text []byte) (nova.Target, *publishError) {
	const at = "/target"
	const choice = `write exactly one of "broadcast", "topic", "topics", "group", "user", "userGroup", "client"`
	var to nova.Target
	members, bad := readObject(text, at, "broadcast", "topic", "topics", "group", "user", "userGroup", "client", "except")
	if bad != nil {
		return to, bad
	}
	if to.Except, bad = readName(members, at, "except"); bad != nil {
		return to, bad
	}
	delete(members, "except")
	if len(members) > 1 {
		return to, refuse(nova.Invalid, at, "the target names %d receivers; %s", len(members), choice)
	}
	if v, ok := members["broadcast"]; ok && string(v) != "true" {
		return to, refuse(nova.Invalid, at+"/broadcast", "write true, or leave the target out")
	}
	if v, ok := members["topics"]; ok {
		to.Kind = nova.ToTopics
		if err := json.Unmarshal(v, &to.Names); err != nil || len(to.Names) == 0 {
			return to, refuse(nova.Invalid, at+"/topics", "write an array of topic names")
		}
	}
	for _, k := range targetKinds {
		if _, ok := members[k.name]; ok {
			to.Kind = k.kind
			if to.Name, bad = readName(members, at, k.name); bad == nil && to.Name == "" {
				bad = refuse(nova.Invalid, at+"/"+k.name, "the name is empty")
			}
		}
	}
	return to, bad
}

// readName reads an optional string member.
func readName(members map[string]json.RawMessage, at, name string) (string, *publishError) {
	v, ok := members[name]
	if !ok {
		return "", nil
	}
	var s *string
	if err := json.Unmarshal(v, &s); err != nil || s == nil {
		return "", refuse(nova.Invalid, at+"/"+name, "write a string")
	}
	return *s, nil
}

// readObject reads an object whose members are all known and stand once.
func readObject(text []byte, at string, known ...string) (map[string]json.RawMessage, *publishError) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, badSyntax(at, err, "write an object")
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, badSyntax(at, err, "write an object")
		}
		name := key.(string) // object keys are strings, the decoder sees to it
		if !slices.Contains(known, name) {
			return nil, refuse(nova.Invalid, at+"/"+escapePointer(name), "unknown property; write one of %s", strings.Join(known, ", "))
		}
		if _, twice := members[name]; twice {
			return nil, refuse(nova.Invalid, at+"/"+name, "the property stands twice; keep one")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, badSyntax(at+"/"+name, err, "write a JSON value")
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, badSyntax(at, err, "write an object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badSyntax(at, nil, "write one object and nothing after it")
	}
	return members, nil
}

func badSyntax(at string, err error, fix string) *publishError {
	if err == nil {
		return refuse(nova.Invalid, at, "%s", fix)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return refuse(nova.Invalid, at, "not JSON: %v; %s", err, fix)
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}
