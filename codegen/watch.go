package codegen

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watchEvery is how often Watch looks at its files. A look is one stat a file, and
// works on every file system, also those that tell nobody of changes.
const watchEvery = 200 * time.Millisecond

// Watch runs the generator at once, and again after each change of what it reads: the
// schema file, or the Go files of the structs and of the packages whose types they
// name. It waits until the files have stood still, so that a change of several is one,
// and an editor has finished writing. each hears of every run, failed ones too; the
// next change is waited for either way. It returns when ctx ends.
func Watch(ctx context.Context, cfg Config, each func(Report, error)) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	w := watcher{}
	w.add([]string{cfg.Schema})
	moving := true
	for {
		if now := w.look(); !maps.Equal(now, w.seen) {
			w.seen, moving = now, true
		} else if moving {
			moving = false
			report, err := Run(cfg)
			w.add(report.Read)
			each(report, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// watcher knows the files that a schema is read from.
type watcher struct {
	places []string // files, and directories of Go packages
	seen   map[string]stamp
}

// stamp is what changes with a file.
type stamp struct {
	time time.Time
	size int64
}

// add takes more places, as they are now. What it knows of others stays: they may
// have changed since they were read.
func (w *watcher) add(places []string) {
	for _, place := range places {
		if !slices.Contains(w.places, place) {
			w.places = append(w.places, place)
			seen := stamps(place)
			maps.Copy(seen, w.seen)
			w.seen = seen
		}
	}
}

func (w *watcher) look() map[string]stamp {
	now := map[string]stamp{}
	for _, place := range w.places {
		maps.Copy(now, stamps(place))
	}
	return now
}

// stamps returns the state of a file, or of the Go files in a directory but for
// tests and what nova writes. What is not there, or cannot be read, has none.
func stamps(place string) map[string]stamp {
	out := map[string]stamp{}
	info, err := os.Stat(place)
	if err != nil {
		return out
	}
	if !info.IsDir() {
		out[place] = stamp{info.ModTime(), info.Size()}
		return out
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return out
	}
	for _, e := range entries {
		name := e.Name()
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_nova.go") {
			continue
		}
		if info, err := os.Stat(filepath.Join(place, name)); err == nil && !info.IsDir() {
			out[filepath.Join(place, name)] = stamp{info.ModTime(), info.Size()}
		}
	}
	return out
}
