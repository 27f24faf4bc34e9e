package wire

import (
	"math"
	"regexp"
	"sync"
	"unicode/utf8"
)

// ValidationError names the first value that breaks a constraint of its schema.
type ValidationError struct {
	Pointer string // RFC 6901 pointer of the value, "" = the whole value
	Message string
}

// Error returns the pointer and the message.
func (e *ValidationError) Error() string {
	if e.Pointer == "" {
		return "invalid value: " + e.Message
	}
	return "invalid value: " + e.Pointer + ": " + e.Message
}

// Invalid begins an error at the value itself; generated code moves it to its
// place while returning.
func Invalid(message string) *ValidationError { return &ValidationError{Message: message} }

// Under moves the error below a property or a key.
func (e *ValidationError) Under(property string) *ValidationError {
	e.Pointer = (&JSONError{Pointer: e.Pointer}).under(property).Pointer
	return e
}

// UnderIndex moves the error below element i.
func (e *ValidationError) UnderIndex(i int) *ValidationError {
	e.Pointer = (&JSONError{Pointer: e.Pointer}).underIndex(i).Pointer
	return e
}

// Characters counts the code points of a string, as minLength and maxLength do.
func Characters(s string) int { return utf8.RuneCountInString(s) }

// Mod is v % n.
func Mod[T int64 | uint64](v, n T) T { return v % n }

// Multiple reports whether v is a multiple of n, exactly.
func Multiple(v, n float64) bool { return math.Mod(v, n) == 0 }

// Unique reports whether no element stands twice.
func Unique[T comparable](list []T) bool {
	seen := make(map[T]struct{}, len(list))
	for _, v := range list {
		if _, twice := seen[v]; twice {
			return false
		}
		seen[v] = struct{}{}
	}
	return true
}

// UniqueBytes is Unique for n elements that are equal when their bytes are.
func UniqueBytes(n int, element func(i int) []byte) bool {
	seen := make(map[string]struct{}, n)
	for i := range n {
		v := string(element(i))
		if _, twice := seen[v]; twice {
			return false
		}
		seen[v] = struct{}{}
	}
	return true
}

// Pattern returns a function that matches a pattern; it is compiled at the first
// use, and panics then when it is none.
func Pattern(re2 string) func(s string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re2) })
	return func(s string) bool { return compiled().MatchString(s) }
}
