package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ignex/nova/wire"
)

// maxLine bounds one line of input, in bytes; the server takes no more either.
const maxLine = 1 << 20

// oneValue is the JSON of the command line, over as many lines as it likes.
type oneValue struct {
	text string
	done bool
}

func (o *oneValue) next() numbered {
	if o.done {
		return numbered{err: io.EOF}
	}
	o.done = true
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(o.text)) != nil {
		return numbered{text: []byte(o.text)} // the check says what is wrong
	}
	return numbered{text: compact.Bytes()}
}

// jsonLines reads one value a line.
type jsonLines struct {
	in   *bufio.Reader
	line int
}

func newJSONLines(r io.Reader) *jsonLines { return &jsonLines{in: bufio.NewReaderSize(r, 64<<10)} }

func (l *jsonLines) next() numbered {
	l.line++
	var text []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxLine; !long {
			text = append(text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return numbered{line: l.line, err: fmt.Errorf("cannot read on: %w", err)}
		case long:
			return numbered{line: l.line, err: fmt.Errorf("%w: longer than %d bytes", errBadLine, maxLine)}
		case err == io.EOF && len(text) == 0:
			return numbered{line: l.line, err: io.EOF}
		}
		return numbered{line: l.line, text: bytes.TrimRight(text, "\r\n")}
	}
}

// openFile opens the file that a flag names.
func openFile(path, flag string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s (%w); check %s", path, errors.Unwrap(err), flag)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s is a directory; name a file with %s", path, flag)
	}
	return file, nil
}

// newFileLines chooses the reader by the file's name.
func newFileLines(name string, r io.Reader, layout *wire.Layout, event *wire.Event) (lineSource, error) {
	if !strings.EqualFold(filepath.Ext(name), ".csv") {
		return newJSONLines(r), nil
	}
	return newCSVLines(name, r, layout, &layout.Tables[event.Table])
}

// csvLines reads RFC 4180 text whose first line names properties, nested ones as
// location.depth. An empty cell is a value that is left out, except of a
// required string.
type csvLines struct {
	in      *csv.Reader
	columns []csvColumn
}

type csvColumn struct {
	path  []string
	field *wire.Field
}

func newCSVLines(name string, r io.Reader, layout *wire.Layout, table *wire.Table) (*csvLines, error) {
	c := &csvLines{in: csv.NewReader(r)}
	header, err := c.in.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s:1: cannot read the names of the columns: %w", name, err)
	}
	for _, h := range header {
		h = strings.TrimSpace(strings.TrimPrefix(h, "\ufeff"))
		path := strings.Split(h, ".")
		field := findField(layout, table, path)
		if field == nil {
			return nil, fmt.Errorf("%s:1: column %q is no property of %s; name the columns as the schema does", name, h, table.Name)
		}
		c.columns = append(c.columns, csvColumn{path, field})
	}
	return c, nil
}

// findField follows a path of properties through tables.
func findField(layout *wire.Layout, table *wire.Table, path []string) *wire.Field {
	for i := range table.Fields {
		f := &table.Fields[i]
		switch {
		case f.Deprecated || f.Kind == wire.UnionType || f.JSON != path[0]:
		case len(path) == 1 && (f.Kind != wire.Struct || f.Vector || layout.Tables[f.Ref].Box):
			return f
		case len(path) > 1 && f.Kind == wire.Struct && !f.Vector:
			return findField(layout, &layout.Tables[f.Ref], path[1:])
		}
	}
	return nil
}

func (c *csvLines) next() numbered {
	cells, err := c.in.Read()
	var parse *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return numbered{err: io.EOF}
	case errors.As(err, &parse):
		return numbered{line: parse.Line, err: fmt.Errorf("%w: %w", errBadLine, parse.Err)}
	case err != nil:
		return numbered{err: fmt.Errorf("cannot read on: %w", err)}
	}
	line, _ := c.in.FieldPos(0) // only of a line that was read: others may have no cell
	row := map[string]any{}
	for i, cell := range cells {
		column := c.columns[i]
		if cell == "" && (column.field.Kind != wire.String || column.field.Presence.CanBeAbsent()) {
			continue
		}
		into := row
		for _, name := range column.path[:len(column.path)-1] {
			nested, ok := into[name].(map[string]any)
			if !ok {
				nested = map[string]any{}
				into[name] = nested
			}
			into = nested
		}
		into[column.path[len(column.path)-1]] = cellValue(column.field, cell)
	}
	text, err := json.Marshal(row)
	if err != nil {
		return numbered{line: line, err: fmt.Errorf("%w: %w", errBadLine, err)}
	}
	return numbered{line: line, text: text}
}

// cellValue gives a cell the JSON type of its field. What does not fit stays a
// string, which the check then refuses by name.
func cellValue(f *wire.Field, cell string) any {
	switch {
	case f.Vector || f.Kind == wire.Struct || f.Kind == wire.Union: // JSON text
		if json.Valid([]byte(cell)) {
			return json.RawMessage(cell)
		}
	case f.Kind == wire.Float64 || f.Kind == wire.Int64 || f.Kind >= wire.Int8 && f.Kind <= wire.Float32:
		if _, err := strconv.ParseFloat(cell, 64); err == nil && json.Valid([]byte(cell)) {
			return json.Number(cell)
		}
	case f.Kind == wire.Bool:
		if b, err := strconv.ParseBool(strings.ToLower(cell)); err == nil {
			return b
		}
	}
	return cell
}
