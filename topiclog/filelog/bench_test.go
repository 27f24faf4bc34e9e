package filelog_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/topiclog/filelog"
)

// All benchmarks append or read frames of 100 bytes. x-bare is how many times the
// time of a bare loop that writes such frames through a 64 KiB buffer to a file
// of the same directory, without checksum, index or fsync.

const frameLength = 100

// bare returns the time of one frame in the bare loop.
func bare(b *testing.B, dir string) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	const n = 200_000
	w, frame := bufio.NewWriterSize(f, 64<<10), make([]byte, frameLength)
	start := time.Now()
	for range n {
		if _, err := w.Write(frame); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return max(took/n, 1)
}

func benchLog(b *testing.B, policy filelog.SyncPolicy) (*filelog.Log, time.Duration) {
	b.Helper()
	dir := b.TempDir()
	perFrame := bare(b, dir)
	log, err := filelog.Open(b.Context(), dir, filelog.Options{Sync: policy})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(frameLength)
	b.ReportAllocs()
	b.ResetTimer()
	return log, perFrame
}

func report(b *testing.B, log *filelog.Log, perFrame time.Duration) {
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(perFrame), "x-bare")
	if err := log.Close(); err != nil {
		b.Error(err)
	}
}

func eachPolicy(b *testing.B, bench func(b *testing.B, policy filelog.SyncPolicy)) {
	for p := filelog.SyncInterval; p <= filelog.SyncNever; p++ {
		b.Run(p.String(), func(b *testing.B) { bench(b, p) })
	}
}

func BenchmarkAppend(b *testing.B) {
	eachPolicy(b, func(b *testing.B, policy filelog.SyncPolicy) {
		log, perFrame := benchLog(b, policy)
		frame := make([]byte, frameLength)
		for b.Loop() {
			if _, err := log.Append(context.Background(), "t", "", frame); err != nil {
				b.Fatal(err)
			}
		}
		report(b, log, perFrame)
	})
}

// 256 appenders at once, 16 topics.
func BenchmarkAppendConcurrent(b *testing.B) {
	eachPolicy(b, func(b *testing.B, policy filelog.SyncPolicy) {
		log, perFrame := benchLog(b, policy)
		frame := make([]byte, frameLength)
		b.SetParallelism(128)
		b.RunParallel(func(pb *testing.PB) {
			for n := 0; pb.Next(); n++ {
				if _, err := log.Append(context.Background(), topics[n%len(topics)], "", frame); err != nil {
					b.Error(err)
					return
				}
			}
		})
		report(b, log, perFrame)
	})
}

var topics = func() (names []string) {
	for i := range 16 {
		names = append(names, fmt.Sprint("topic.", i))
	}
	return names
}()

// 256 frames in each call.
func BenchmarkAppendAll(b *testing.B) {
	eachPolicy(b, func(b *testing.B, policy filelog.SyncPolicy) {
		log, perFrame := benchLog(b, policy)
		entries := make([]topiclog.Entry, 256)
		for i := range entries {
			entries[i] = topiclog.Entry{Topic: topics[i%len(topics)], Frame: make([]byte, frameLength)}
		}
		for n := 0; n < b.N; n += len(entries) {
			if err := log.AppendAll(context.Background(), entries[:min(len(entries), b.N-n)]); err != nil {
				b.Fatal(err)
			}
		}
		report(b, log, perFrame)
	})
}

// Pages of 1,000 frames; topics: how many topics they lie among.
func BenchmarkRange(b *testing.B) {
	for _, among := range []int{1, 16} {
		b.Run(fmt.Sprint("topics=", among), func(b *testing.B) {
			log, perFrame := benchLog(b, filelog.SyncNever)
			const frames = 50_000
			entries := make([]topiclog.Entry, frames*among)
			for i := range entries {
				entries[i] = topiclog.Entry{Topic: topics[i%among], Frame: make([]byte, frameLength)}
			}
			for len(entries) > 0 {
				n := min(len(entries), 10_000)
				if err := log.AppendAll(context.Background(), entries[:n]); err != nil {
					b.Fatal(err)
				}
				entries = entries[n:]
			}
			epoch, _, _, err := log.Head(context.Background(), topics[0])
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for n, after := 0, uint64(0); n < b.N; {
				page, _, err := log.Range(context.Background(), topics[0], epoch, after, min(1000, b.N-n))
				if err != nil {
					b.Fatal(err)
				}
				n += len(page)
				after = 0
				if len(page) > 0 {
					after = page[len(page)-1].Offset
				}
				if after == frames {
					after = 0
				}
			}
			report(b, log, perFrame)
		})
	}
}

// Reading a log of 64 MiB again.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	log, err := filelog.Open(b.Context(), dir, filelog.Options{Sync: filelog.SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	entries := make([]topiclog.Entry, 10_000)
	for i := range entries {
		entries[i] = topiclog.Entry{Topic: topics[i%16], ID: fmt.Sprint(i), Frame: make([]byte, frameLength)}
	}
	for range 55 {
		for i := range entries {
			entries[i].ID += "x"
		}
		if err := log.AppendAll(b.Context(), entries); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(log.Stats().Bytes)
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		log, err := filelog.Open(b.Context(), dir, filelog.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
