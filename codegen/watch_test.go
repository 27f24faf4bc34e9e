package codegen_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
)

// watched is what one run of Watch told.
type watched struct {
	codegen.Report
	err error
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "schema.json")
		put := func(field string) {
			t.Helper()
			text := `{"package":"p","events":{"e":{"type":"object","properties":{"x":` + field + `}}}}`
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(`{"type":"string"}`)
		ctx, cancel := context.WithCancel(t.Context())
		runs, done := make(chan watched), make(chan struct{})
		go func() {
			defer close(done)
			cfg := codegen.Config{Schema: file, GoDir: filepath.Join(filepath.Dir(file), "p")}
			codegen.Watch(ctx, cfg, func(r codegen.Report, err error) { runs <- watched{r, err} })
		}()
		quiet := func() {
			t.Helper()
			select {
			case r := <-runs:
				t.Errorf("it ran again without a change: %+v", r)
			case <-time.After(time.Minute):
			}
		}

		first := <-runs
		if first.err != nil || len(first.Written) != 2 {
			t.Fatalf("%+v", first)
		}
		quiet()

		// A file that goes on changing is not read before it stands still.
		for range 5 {
			put(`{"type":`)
			time.Sleep(150 * time.Millisecond)
			put(`{"type":"str`)
			time.Sleep(150 * time.Millisecond)
		}
		put(`{"type":"string","maxLength":5}`)
		if r := <-runs; r.err != nil || len(r.Written) != 1 {
			t.Errorf("%+v", r)
		}
		quiet()

		// It goes on after errors, a file that is gone among them.
		put(`{"type":"strin"}`)
		r := <-runs
		var problems schema.Errors
		if !errors.As(r.err, &problems) || !strings.Contains(problems[0].Excerpt, "strin") {
			t.Errorf("%+v", r)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if r := <-runs; !errors.Is(r.err, os.ErrNotExist) {
			t.Errorf("%+v", r)
		}
		quiet()
		put(`{"type":"string"}`)
		if r := <-runs; r.err != nil || r.Fingerprint != first.Fingerprint {
			t.Errorf("%+v", r)
		}
		cancel()
		<-done
	})
}
