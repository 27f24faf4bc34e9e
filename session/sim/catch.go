package sim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// catchSeeds is how many programs may pass before a mutation has to show.
const catchSeeds = "20000"

// Catch runs the simulator of the package in the current folder, the test named by
// run, once with each mutation, and fails for those it does not catch. root is the
// way to the root of the module.
func Catch(t *testing.T, root, run string, mutations []Mutation) {
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			overlay, err := m.Overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-timeout", "300s", "-run", run, ".")
			cmd.Env = append(os.Environ(), fmt.Sprintf("NOVA_SIM_SEED=%d", max(m.Seed, 1)), "NOVA_SIM_SEEDS="+catchSeeds, "NOVA_SIM_PROGRAM=", "NOVA_SIM_SHRINK=0",
				"NOVA_SIM_WORKERS=1") // one program after the other: beside the one that shows it, another may never end
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("not caught by %s programs", catchSeeds)
			case !strings.Contains(string(out), "invariant") && !strings.Contains(string(out), "panic"):
				t.Errorf("%v\n%s", err, out)
			default:
				for line := range strings.Lines(string(out)) {
					if strings.Contains(line, "seed ") {
						t.Log(strings.TrimSpace(line))
					}
				}
			}
		})
	}
}
