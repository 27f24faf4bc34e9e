package wire

import "fmt"

// FindCall returns the call of a name, or an error that names the one probably meant.
func (l *Layout) FindCall(name string) (*Call, error) {
	names := make([]string, len(l.Calls))
	for i := range l.Calls {
		if l.Calls[i].Name == name {
			return &l.Calls[i], nil
		}
		names[i] = l.Calls[i].Name
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("unknown call %s; schema %s has no calls", quote(name), l.Package)
	}
	if near := nearest(name, names); near != "" {
		return nil, fmt.Errorf("unknown call %s; did you mean %q? (calls of schema %s: %s)", quote(name), near, l.Package, list(names))
	}
	return nil, fmt.Errorf("unknown call %s; schema %s has %s", quote(name), l.Package, list(names))
}
