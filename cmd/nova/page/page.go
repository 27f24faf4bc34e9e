// Package page serves the pages of `nova demo`: the market page, and a page that
// shows the events of any schema. Their built assets lie in dist and are part of
// the binary; `npm run build` in this folder makes them.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist
var dist embed.FS

// Config says which page is served and where it finds the server. The zero value
// is the market page beside a socket at ws.
type Config struct {
	// Generic serves the page for any schema, which reads the layout from Schema.
	// Default: the market page.
	Generic bool
	// Topics are what the page subscribes to, besides what is broadcast. Names must
	// not contain a comma. Default: equities for the market page, else none.
	Topics []string
	// Socket is the URL of the WebSocket, relative to the page. Default: ws.
	Socket string
	// Feed is the URL, relative to the page, that tells the rate of the feed and takes
	// another; only the market page uses it. Default: none.
	Feed string
	// Schema is the URL of the JSON form of the schema's wire.Layout, relative to
	// the page; only the generic page reads it. Default: schema.
	Schema string
}

// policy lets the pages load only what this handler serves and talk only to
// sockets and to the server they came from.
const policy = "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the content types by extension. The table of the system is not
// asked: it differs between machines.
var types = map[string]string{
	".html":  "text/html; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
	".txt":   "text/plain; charset=utf-8",
}

// asset is one file, ready to be sent.
type asset struct {
	data        []byte
	contentType string
	etag        string
}

// Handler serves the page at / and its assets beside it, to GET and HEAD, and
// answers 404 to any other path. Browsers ask again each time and get 304 while
// nothing changed.
func Handler(config Config) http.Handler {
	return handler{assets: load(config)}
}

type handler struct{ assets map[string]asset }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := h.assets[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page can only be read: use GET", http.StatusMethodNotAllowed)
		return
	}
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("ETag", a.etag)
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}

// load reads the embedded files; the page chosen by config becomes "". An
// embedded file that cannot be read is a fault of the build, so it panics.
func load(config Config) map[string]asset {
	root := "index.html"
	if config.Generic {
		root = "generic.html"
	}
	assets := map[string]asset{}
	files, err := fs.ReadDir(dist, "dist")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		data, err := fs.ReadFile(dist, "dist/"+f.Name())
		if err != nil {
			panic(err)
		}
		name := f.Name()
		switch {
		case name == root:
			name, data = "", configure(data, config)
		case path.Ext(name) == ".html":
			continue
		}
		sum := sha256.Sum256(data)
		assets[name] = asset{data: data, contentType: types[path.Ext(f.Name())], etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	return assets
}

// configure writes what config says into the head of a page, where its script
// reads it: the policy allows no inline script.
func configure(page []byte, config Config) []byte {
	var head strings.Builder
	meta := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&head, "<meta name=\"nova:%s\" content=\"%s\">\n", name, html.EscapeString(value))
		}
	}
	meta("socket", config.Socket)
	meta("feed", config.Feed)
	meta("schema", config.Schema)
	meta("topics", strings.Join(config.Topics, ","))
	return bytes.Replace(page, []byte("<!--nova:config-->\n"), []byte(head.String()), 1)
}
