package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/ignex/nova/cmd/nova/page"
)

func get(t *testing.T, h http.Handler, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestServesItsFiles(t *testing.T) {
	h := page.Handler(page.Config{})
	for path, want := range map[string]string{
		"/":            "text/html; charset=utf-8",
		"/app.js":      "text/javascript; charset=utf-8",
		"/app.css":     "text/css; charset=utf-8",
		"/theme.js":    "text/javascript; charset=utf-8",
		"/icon.svg":    "image/svg+xml",
		"/inter.woff2": "font/woff2",
	} {
		res, body := get(t, h, "GET", path)
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != want || body == "" {
			t.Errorf("%s: status %d, type %q, %d bytes; want 200 %q", path, res.StatusCode, res.Header.Get("Content-Type"), len(body), want)
		}
		if got := res.Header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'self'; connect-src 'self' ws: wss:;") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		etag := res.Header.Get("ETag")
		res, body = get(t, h, "GET", path, "If-None-Match", etag)
		if etag == "" || res.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s: asked again with ETag %q: status %d, %d bytes", path, etag, res.StatusCode, len(body))
		}
	}
}

func TestAnswersNothingElse(t *testing.T) {
	h := page.Handler(page.Config{})
	for _, path := range []string{"/index.html", "/generic.html", "/dist/app.js", "/nope", "/../page.go", "//"} {
		if res, _ := get(t, h, "GET", path); res.StatusCode != 404 {
			t.Errorf("%s: status %d, want 404", path, res.StatusCode)
		}
	}
	res, _ := get(t, h, "POST", "/")
	if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", res.StatusCode, res.Header.Get("Allow"))
	}
	if res, body := get(t, h, "HEAD", "/"); res.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: status %d, %d bytes", res.StatusCode, len(body))
	}
}

func TestConfigReachesThePage(t *testing.T) {
	_, market := get(t, page.Handler(page.Config{}), "GET", "/")
	if strings.Contains(market, "nova:") || !strings.Contains(market, `src="app.js"`) {
		t.Error("the page of the zero Config is not the plain market page")
	}
	_, generic := get(t, page.Handler(page.Config{Generic: true, Topics: []string{"a", `"><b>`}, Socket: "/live", Schema: "/layout"}), "GET", "/")
	for _, want := range []string{
		`src="generic.js"`,
		`<meta name="nova:topics" content="a,&#34;&gt;&lt;b&gt;">`,
		`<meta name="nova:socket" content="/live">`,
		`<meta name="nova:schema" content="/layout">`,
	} {
		if !strings.Contains(generic, want) {
			t.Errorf("the generic page has no %s", want)
		}
	}
}

// What the policy would block, and what would leave the machine, is not there.
func TestNothingInlineNothingElsewhere(t *testing.T) {
	inline := regexp.MustCompile(`<script(?:\s[^>]*)?>[^<]|<style|\sstyle=|\son[a-z]+=`)
	away := regexp.MustCompile(`(?:src|href)="[a-z]+:|url\("?[a-z]+:|@import`)
	for _, generic := range []bool{false, true} {
		h := page.Handler(page.Config{Generic: generic})
		for _, path := range []string{"/", "/app.css"} {
			_, body := get(t, h, "GET", path)
			if found := inline.FindString(body); path == "/" && found != "" {
				t.Errorf("%s: inline %q", path, found)
			}
			if found := away.FindString(body); found != "" {
				t.Errorf("%s: leads elsewhere: %q", path, found)
			}
		}
	}
}
