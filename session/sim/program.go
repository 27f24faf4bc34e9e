package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Kind is a kind of step: its name in a printed program, and how often it is
// drawn compared with others.
type Kind struct {
	Name   string
	Weight int
}

// Step is one thing that happens. Its arguments are drawn without a look at the
// state, each from 0 to MaxArg; whoever runs it makes sense of them. So a program
// with steps left out is a program too.
type Step struct {
	Op   int // index of its Kind
	Args [3]int
}

// MaxArg is the largest argument of a step.
const MaxArg = 9999

// Program is a whole run: Seed decides the sizes of everything, Steps what
// happens.
type Program struct {
	Seed  uint64
	Steps []Step
}

// Rand returns the source of everything that is drawn before the first step.
func (p Program) Rand() *rand.Rand { return rand.New(rand.NewPCG(p.Seed, 1)) }

// Generate draws a program of n steps.
func Generate(kinds []Kind, seed uint64, n int) Program {
	total := 0
	for _, k := range kinds {
		total += k.Weight
	}
	r := rand.New(rand.NewPCG(seed, 2))
	p := Program{Seed: seed, Steps: make([]Step, n)}
	for i := range p.Steps {
		s := &p.Steps[i]
		for at := r.IntN(total); at >= kinds[s.Op].Weight; s.Op++ {
			at -= kinds[s.Op].Weight
		}
		for k := range s.Args {
			s.Args[k] = r.IntN(MaxArg + 1)
		}
	}
	return p
}

// Format prints a program as one line that Parse reads.
func Format(kinds []Kind, p Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", p.Seed)
	for _, s := range p.Steps {
		fmt.Fprintf(&b, " %s,%d,%d,%d", kinds[s.Op].Name, s.Args[0], s.Args[1], s.Args[2])
	}
	return b.String()
}

// Parse reads what Format printed.
func Parse(kinds []Kind, text string) (Program, error) {
	head, rest, ok := strings.Cut(text, ":")
	seed, err := strconv.ParseUint(head, 10, 64)
	if !ok || err != nil {
		return Program{}, fmt.Errorf("program %q: want a seed and a colon in front", text)
	}
	p := Program{Seed: seed}
	for _, word := range strings.Fields(rest) {
		parts := strings.Split(word, ",")
		s := Step{Op: -1}
		for i, k := range kinds {
			if k.Name == parts[0] {
				s.Op = i
			}
		}
		if s.Op < 0 || len(parts) != 1+len(s.Args) {
			return Program{}, fmt.Errorf("program: %q is no step", word)
		}
		for k := range s.Args {
			if s.Args[k], err = strconv.Atoi(parts[k+1]); err != nil {
				return Program{}, fmt.Errorf("program: %q: %w", word, err)
			}
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

// Shrink leaves out steps and lowers arguments as long as the program still
// fails. It asks fails at most tries times.
func Shrink(p Program, tries int, fails func(Program) bool) Program {
	try := func(q Program) bool {
		if tries <= 0 {
			return false
		}
		tries--
		if !fails(q) {
			return false
		}
		p = q
		return true
	}
	for size := max(1, len(p.Steps)/2); ; size = max(1, size/2) {
		changed := false
		for at := len(p.Steps); at > 0; at -= size {
			from := max(0, at-size)
			if at > len(p.Steps) {
				continue
			}
			steps := append(append([]Step(nil), p.Steps[:from]...), p.Steps[at:]...)
			if try(Program{p.Seed, steps}) {
				changed = true
			}
		}
		if size == 1 && (!changed || tries <= 0) {
			break
		}
	}
	for i := range p.Steps {
		for k := range p.Steps[i].Args {
			for _, v := range []int{0, 1, p.Steps[i].Args[k] % 10, p.Steps[i].Args[k] % 100} {
				if v >= p.Steps[i].Args[k] {
					continue
				}
				q := Program{p.Seed, append([]Step(nil), p.Steps...)}
				q.Steps[i].Args[k] = v
				if try(q) {
					break
				}
			}
		}
	}
	return p
}
