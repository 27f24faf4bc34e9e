package nova

import (
	"maps"
	"sync"
)

// data is what an application keeps with a client.
type data struct {
	mu   sync.Mutex
	held *held // most clients have none
}

type held struct {
	values map[string]any
	meta   map[string]any
}

// open returns what is held, to be changed. The caller holds mu.
func (d *data) open() *held {
	if d.held == nil {
		d.held = &held{}
	}
	return d.held
}

// Meta returns what authentication said about the client, nil for nothing. It is
// shared: do not change it.
func (c *Client) Meta() map[string]any {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	if c.data.held == nil {
		return nil
	}
	return c.data.held.meta
}

// SetMeta replaces what Meta returns, until the client authenticates again. The map
// is kept as it is.
func (c *Client) SetMeta(meta map[string]any) {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	if c.data.held != nil || meta != nil {
		c.data.open().meta = meta
	}
}

// Get returns what Set stored under a name, nil when nothing is.
func (c *Client) Get(name string) any {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	if c.data.held == nil {
		return nil
	}
	return c.data.held.values[name]
}

// Set stores a value with the client until its session ends: it is there on the
// next socket too, and in OnDisconnect for the last time.
func (c *Client) Set(name string, value any) {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	h := c.data.open()
	if h.values == nil {
		h.values = map[string]any{}
	}
	h.values[name] = value
}

// Delete forgets one value.
func (c *Client) Delete(name string) {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	if c.data.held != nil {
		delete(c.data.held.values, name)
	}
}

// Clear forgets all values.
func (c *Client) Clear() {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	if c.data.held != nil {
		c.data.held.values = nil
	}
}

// All returns a copy of what is stored, by name; never nil.
func (c *Client) All() map[string]any {
	c.data.mu.Lock()
	defer c.data.mu.Unlock()
	if c.data.held == nil || c.data.held.values == nil {
		return map[string]any{}
	}
	return maps.Clone(c.data.held.values)
}

// Key is the name of a value of one type in the data of clients. The same name
// used with another type finds nothing.
//
//	var cart nova.Key[Cart] = "cart"
//	cart.Set(client, c)
//	c, ok := cart.Get(client)
type Key[T any] string

// Get returns the client's value, and whether there is one of that type.
func (k Key[T]) Get(c *Client) (value T, ok bool) {
	value, ok = c.Get(string(k)).(T)
	return value, ok
}

// Set stores the client's value, in the way of Client.Set.
func (k Key[T]) Set(c *Client, value T) { c.Set(string(k), value) }

// Delete forgets the client's value.
func (k Key[T]) Delete(c *Client) { c.Delete(string(k)) }
