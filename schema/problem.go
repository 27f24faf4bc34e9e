package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in an input file.
type Pos struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in bytes
	Pointer string // JSON pointer (RFC 6901) of the schema node, "" = the document
}

// String returns file:line:column and the pointer, without the pointer for a
// place in Go.
func (p Pos) String() string {
	if isGo(p.File) {
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	pointer := p.Pointer
	if pointer == "" {
		pointer = "/"
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, pointer)
}

func isGo(file string) bool { return strings.HasSuffix(file, ".go") }

// Problem is one thing wrong with a schema: where it is, what was found and
// what to write instead.
type Problem struct {
	Pos   Pos
	Found string // what is wrong, in one sentence without a full stop
	Fix   string // what to write instead

	// Excerpt is the line of the source, or the part of it around the place, and
	// below it a caret. Read fills it; "" when there is no such line.
	Excerpt string
}

// Detail returns the problem with its excerpt, which is indented.
func (p Problem) Detail() string {
	if p.Excerpt == "" {
		return p.String()
	}
	return p.String() + "\n    " + strings.ReplaceAll(p.Excerpt, "\n", "\n    ")
}

func (p Problem) String() string {
	if p.Fix == "" {
		return p.Pos.String() + ": " + p.Found
	}
	return p.Pos.String() + ": " + p.Found + "; " + p.Fix
}

// Errors are all problems of one run, in document order.
type Errors []Problem

// Error returns one line a problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Detail returns all problems with their excerpts.
func (e Errors) Detail() string {
	parts := make([]string, len(e))
	for i, p := range e {
		parts[i] = p.Detail()
	}
	return strings.Join(parts, "\n")
}

// Sorted returns the problems in the order of their places, each once.
func (e Errors) Sorted() Errors {
	sortProblems(e)
	return slices.Compact(e)
}
