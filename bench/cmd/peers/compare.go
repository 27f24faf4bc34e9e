package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ignex/nova/bench/peers"
)

// compareOptions are the flags of the comparison.
type compareOptions struct {
	list, quick, keep, sleep          bool
	only, workload, js, out, profiles string
	n, w, rate, samples, size         int
	duration                          time.Duration
}

func parseCompare(args []string) (o compareOptions, err error) {
	fs := flag.NewFlagSet("peers", flag.ContinueOnError)
	fs.BoolVar(&o.list, "list", false, "list peers and workloads")
	fs.BoolVar(&o.quick, "quick", false, "one sample each, disturbed or not")
	fs.BoolVar(&o.keep, "keep", false, "keep samples although others used the machine")
	fs.BoolVar(&o.sleep, "sleep", false, "let the client sleep while there is nothing to read; servers then pay for waking it")
	fs.StringVar(&o.only, "only", "", "peers, separated by commas; all by default")
	fs.StringVar(&o.workload, "workload", "", "workloads by name or its beginning, separated by commas; all by default")
	fs.StringVar(&o.js, "js", "peers/js", "folder of the JavaScript servers, after npm ci")
	fs.StringVar(&o.out, "out", "", "write the report to this file too, after each workload")
	fs.StringVar(&o.profiles, "profiles", "", "write CPU profiles of the servers in Go to this folder")
	fs.IntVar(&o.n, "n", 0, "connections, instead of the workload's")
	fs.IntVar(&o.w, "w", 0, "broadcasts outstanding, instead of the workload's")
	fs.IntVar(&o.rate, "rate", 0, "broadcasts a second, instead of the workload's")
	fs.IntVar(&o.size, "size", 0, "payload bytes, instead of the workload's")
	fs.IntVar(&o.samples, "samples", 5, "rounds")
	fs.DurationVar(&o.duration, "duration", 0, "of one window, instead of the workload's")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.samples < 1 || o.n < 0 || o.w < 0 || o.rate < 0 || o.size < 0 || o.duration < 0 {
		return o, errors.New("-samples must be at least 1, the others not negative")
	}
	if o.quick {
		o.samples, o.keep = 1, true
	}
	return o, nil
}

func compare(ctx context.Context, args []string) error {
	o, err := parseCompare(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := choosePeers(o.only)
	if err != nil {
		return err
	}
	workloads, err := o.chooseWorkloads()
	if err != nil {
		return err
	}
	if o.list {
		for _, p := range all {
			fmt.Printf("%-16s %s\n", p.Name, p.About)
		}
		fmt.Println()
		for _, w := range workloads {
			fmt.Printf("%-16s %s\n", w.Name, w.About)
		}
		return nil
	}
	report, err := peers.NewReport(o.js, "go run ./cmd/peers "+strings.Join(args, " "))
	if err != nil {
		return err
	}
	b := peers.Bench{JS: o.js, Samples: o.samples, Keep: o.keep, Sleep: o.sleep, Profiles: o.profiles, Log: os.Stderr}
	for _, w := range workloads {
		t, err := b.Run(ctx, w, all)
		if err != nil {
			return err
		}
		report.Add(t)
		if err := o.write(report); err != nil { // what is done is kept when the next is interrupted
			return err
		}
	}
	fmt.Print(report.String())
	return nil
}

func (o *compareOptions) write(report *peers.Report) error {
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, []byte(report.String()), 0o644)
}

func choosePeers(only string) ([]peers.Peer, error) {
	all := peers.Peers()
	if only == "" {
		return all, nil
	}
	var chosen []peers.Peer
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(p peers.Peer) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no peer %q; -list shows them", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (o *compareOptions) chooseWorkloads() ([]peers.Workload, error) {
	var chosen []peers.Workload
	all := peers.Workloads()
	for _, w := range all {
		wanted := o.workload == ""
		for name := range strings.SplitSeq(o.workload, ",") {
			exact := slices.ContainsFunc(all, func(w peers.Workload) bool { return w.Name == name })
			wanted = wanted || w.Name == name || !exact && name != "" && strings.HasPrefix(w.Name, name)
		}
		if wanted {
			chosen = append(chosen, o.change(w))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("there is no workload %q; -list shows them", o.workload)
	}
	return chosen, nil
}

// change applies the flags that stand instead of a workload's own values.
func (o *compareOptions) change(w peers.Workload) peers.Workload {
	about := ""
	set := func(p *int, v int, name string) {
		if v > 0 && *p > 0 {
			*p = v
			about += fmt.Sprintf(", %s %d", name, v)
		}
	}
	set(&w.Spec.N, o.n, "connections")
	set(&w.Spec.Window, o.w, "outstanding")
	set(&w.Spec.Rate, o.rate, "a second")
	set(&w.Size, o.size, "bytes")
	if o.duration > 0 && w.Spec.Duration > 0 {
		w.Spec.Duration = o.duration
	}
	if about != "" {
		w.About += "; here" + about[1:]
	}
	return w
}
