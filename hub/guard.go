package hub

import (
	"errors"
	"regexp"
	"sync"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
)

// guardInt64 does with an integer that browsers cannot hold what Options.Int64Guard
// says.
func (h *Hub) guardInt64(e *eventState, unsafe error) error {
	switch h.options.Int64Guard {
	case GuardRefuse:
		return nova.Errorf(nova.Invalid, "%s: %w", e.event.Name, unsafe)
	case GuardWarn:
		field := "?"
		var named *wire.Int64Error
		if errors.As(unsafe, &named) {
			field = elements.ReplaceAllString(named.Path, "[]")
		}
		if e.warned.first(field) {
			h.options.Logger.Warn("a published integer will change in browsers (logged once per event and field)",
				"event", e.event.Name, "field", field, "error", unsafe)
		}
	}
	return nil
}

// elements are the places in arrays, of which any may be the first that is unsafe.
var elements = regexp.MustCompile(`\[\d+\]`)

// fieldSet remembers the fields that were warned of.
type fieldSet struct {
	mu     sync.Mutex
	fields map[string]struct{}
}

// maxWarned bounds a fieldSet: keys of maps may be part of a field's path.
const maxWarned = 64

// first reports whether the field is new.
func (s *fieldSet) first(field string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.fields[field]; known || len(s.fields) >= maxWarned {
		return false
	}
	if s.fields == nil {
		s.fields = map[string]struct{}{}
	}
	s.fields[field] = struct{}{}
	return true
}
