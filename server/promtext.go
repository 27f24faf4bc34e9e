package server

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
)

func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m := s.Metrics()
	_, _ = m.WriteTo(w) // the client is gone: nobody to tell
}

// WriteTo writes the snapshot in the Prometheus text format, version 0.0.4.
func (m *Metrics) WriteTo(out io.Writer) (int64, error) {
	counted := &countingWriter{out: out}
	w := bufio.NewWriter(counted)
	for _, f := range m.Families() {
		f.writeTo(w)
	}
	err := w.Flush()
	return counted.n, err
}

type countingWriter struct {
	out io.Writer
	n   int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.out.Write(b)
	c.n += int64(n)
	return n, err
}

func (f *Family) writeTo(w *bufio.Writer) {
	if f.Help != "" {
		w.WriteString("# HELP " + f.Name + " " + f.Help + "\n")
	}
	w.WriteString("# TYPE " + f.Name + " " + f.Kind.String() + "\n")
	for _, s := range f.Samples {
		if f.Kind != Histogram {
			writeLine(w, f.Name, f.Label, s.Label, s.Value)
			continue
		}
		for _, b := range s.Buckets {
			writeLine(w, f.Name+"_bucket", "le", formatNumber(b.UpTo), float64(b.Count))
		}
		writeLine(w, f.Name+"_bucket", "le", "+Inf", float64(s.Count))
		writeLine(w, f.Name+"_sum", "", "", s.Sum)
		writeLine(w, f.Name+"_count", "", "", float64(s.Count))
	}
}

// labelEscape is what the format wants in label values.
var labelEscape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func writeLine(w *bufio.Writer, name, label, value string, n float64) {
	w.WriteString(name)
	if label != "" {
		w.WriteString("{" + label + `="` + labelEscape.Replace(value) + `"}`)
	}
	w.WriteString(" " + formatNumber(n) + "\n")
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
