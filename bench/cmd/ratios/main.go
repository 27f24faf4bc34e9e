// Ratios measures the codecs in interleaved rounds: in each round every codec
// runs once, so that whatever else the machine does hits all alike. It prints
// medians, and how many times slower than nova each codec was, as the median of
// the ratios within one round.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/ignex/nova/bench/internal/codecs"
)

func main() {
	rounds := flag.Int("rounds", 200, "rounds; each codec runs once in each")
	slice := flag.Duration("slice", time.Millisecond, "time of one codec in one round")
	only := flag.String("case", "", "measure this message alone")
	flag.Parse()
	if *rounds < 1 || *slice <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "ratios: -rounds must be at least 1 and -slice positive; there are no other arguments")
		os.Exit(2)
	}
	fmt.Printf("%s %s/%s, %d processors, GOMAXPROCS %d, %d rounds of %v\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0), *rounds, *slice)
	found := false
	for _, c := range codecs.Cases() {
		if *only != "" && c.Name != *only {
			continue
		}
		found = true
		report(os.Stdout, c, *rounds, *slice)
	}
	if !found {
		fmt.Fprintf(os.Stderr, "ratios: there is no case %q\n", *only)
		os.Exit(2)
	}
}

// work is one codec doing one thing n times.
type work struct {
	name  string
	bytes int
	run   func(n int)
	batch int // runs that last a slice
	times []float64
}

func report(w io.Writer, c codecs.Case, rounds int, slice time.Duration) {
	var encode, decode []*work
	for _, codec := range c.Codecs {
		data, buf := codec.Encode(nil)
		data = slices.Clone(data)
		encode = append(encode, &work{name: codec.Name, bytes: len(data), run: func(n int) {
			for range n {
				_, buf = codec.Encode(buf)
			}
		}})
		if codec.Name == "flatbuffers-fresh" {
			continue // decodes as flatbuffers-reused
		}
		decode = append(decode, &work{name: codec.Name, bytes: len(data), run: func(n int) {
			for range n {
				if err := codec.Decode(data); err != nil {
					panic(err)
				}
			}
		}})
	}
	all := append(slices.Clone(encode), decode...)
	for _, k := range all {
		k.calibrate(slice)
	}
	for range rounds {
		for _, k := range all {
			start := time.Now()
			k.run(k.batch)
			k.times = append(k.times, float64(time.Since(start).Nanoseconds())/float64(k.batch))
		}
	}
	table(w, c.Name+" encode", encode)
	table(w, c.Name+" decode", decode)
}

func (k *work) calibrate(slice time.Duration) {
	for k.batch = 1; ; k.batch *= 2 {
		start := time.Now()
		k.run(k.batch)
		if took := time.Since(start); took >= slice/2 {
			k.batch = max(1, int(float64(k.batch)*float64(slice)/float64(took)))
			return
		}
	}
}

func table(w io.Writer, title string, all []*work) {
	fmt.Fprintf(w, "\n%-22s %8s %12s %18s %10s %8s\n", title, "bytes", "ns median", "range", "x nova", "allocs")
	for _, k := range all {
		ratios := make([]float64, len(k.times))
		for i := range ratios {
			ratios[i] = k.times[i] / all[0].times[i]
		}
		fmt.Fprintf(w, "%-22s %8d %12.1f %18s %10.2f %8.0f\n", k.name, k.bytes, median(k.times),
			fmt.Sprintf("%.0f-%.0f", slices.Min(k.times), slices.Max(k.times)), median(ratios), k.allocs())
	}
}

func (k *work) allocs() float64 {
	const n = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	k.run(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n
}

func median(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
