package filelog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/ignex/nova/topiclog/filelog"
)

// seeds: what the log writes, and what a disk may make of it.
func segmentBodies() [][]byte {
	whole := filelog.EndRecord(nil, 0)
	whole = filelog.TopicRecord(whole, 1, "t", "epoch", 65_536, 0, 0)
	whole = filelog.FrameRecord(whole, 1, 1, "id", "", []byte("frame"))
	whole = filelog.FrameRecord(whole, 1, 2, "", "c1", nil)
	whole = filelog.ReserveRecord(whole, 1, 131_072)
	whole = filelog.FrameRecord(whole, 1, 70_000, "other", "", bytes.Repeat([]byte{7}, 300))
	spoiled := bytes.Clone(whole)
	spoiled[20]++
	return [][]byte{
		nil, whole, whole[:len(whole)-1], whole[:30], spoiled, append(bytes.Clone(whole), make([]byte, 64)...),
		filelog.FrameRecord(filelog.EndRecord(nil, 0), 9, 1, "", "", nil),                                               // an unknown topic
		filelog.FrameRecord(bytes.Clone(whole), 1, 5, "", "", nil),                                                      // an older offset
		filelog.FrameRecord(bytes.Clone(whole), 1, 1<<40, "", "", nil),                                                  // not reserved
		filelog.TopicRecord(filelog.EndRecord(nil, 0), 1, "t", "e", 7, 9, 11),                                           // a state that cannot be
		filelog.EndRecord(filelog.EndRecord(nil, 0), 0),                                                                 // two ends
		filelog.TopicRecord(filelog.TopicRecord(filelog.EndRecord(nil, 0), 1, "t", "e", 0, 0, 0), 1, "u", "e", 0, 0, 0), // one number twice
	}
}

// slowScan is the obvious reader: it knows lengths and checksums only.
func slowScan(b []byte) (ends []int64) {
	at := 0
	for len(b)-at >= 8 {
		sum, length := binary.LittleEndian.Uint32(b[at:]), int(binary.LittleEndian.Uint32(b[at+4:]))
		if length == 0 || length > len(b)-at-8 || crc32.Checksum(b[at+4:at+8+length], crc32.MakeTable(crc32.Castagnoli)) != sum {
			break
		}
		at += 8 + length
		ends = append(ends, int64(at))
	}
	return ends
}

// FuzzSegment: the reader takes any bytes; it finds a prefix of what the obvious
// one finds, and each record it takes stands in the file as the writer writes it.
func FuzzSegment(f *testing.F) {
	for _, b := range segmentBodies() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ends := slowScan(b)
		records, end, problem := filelog.Scan(bytes.NewReader(b), int64(len(b)))
		if len(records) > len(ends) || problem == nil && end != int64(len(b)) || problem != nil && end == int64(len(b)) && len(b) > 0 {
			t.Fatalf("%d records of %d, end %d of %d, %v", len(records), len(ends), end, len(b), problem)
		}
		for i, r := range records {
			if r.At+int64(r.Length) != ends[i] {
				t.Fatalf("record %d ends at %d, want %d", i, r.At+int64(r.Length), ends[i])
			}
			if r.Kind == 1 && !bytes.HasSuffix(b[r.At:ends[i]], []byte(r.ID+r.Frame)) {
				t.Fatalf("record %d has other bytes: id %q, frame %q", i, r.ID, r.Frame)
			}
		}
		if len(records) < len(ends) && problem == nil {
			t.Fatal("a record was left out without a word")
		}
	})
}

// FuzzOpen: any bytes at the end of a log that did not end cleanly can be opened,
// appended to, and opened again with the same content.
func FuzzOpen(f *testing.F) {
	for _, b := range segmentBodies() {
		f.Add(b)
	}
	sim := newSim()
	log, err := filelog.Open(f.Context(), "d", filelog.WithFS(filelog.Options{}, sim.process(), 0))
	if err != nil {
		f.Fatal(err)
	}
	name := sim.segments()[0]
	head := sim.bytes(name)[:filelog.HeaderSize]
	if err := log.Close(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sim := newSim()
		sim.put(name, append(bytes.Clone(head), b...))
		log := openSim(t, sim, filelog.Options{})
		if _, err := log.Append(t.Context(), "t", "", []byte("more")); err != nil {
			t.Fatal(err)
		}
		before, lost := read(t, log, "t")
		shut(t, log)
		log, err := filelog.Open(t.Context(), "d", filelog.WithFS(filelog.Options{}, sim.process(), 0))
		if err != nil {
			var damage *filelog.DamageError
			t.Fatalf("%v (damage %v)", err, errors.As(err, &damage))
		}
		after, lostThen := read(t, log, "t")
		if len(before) != len(after) || lost != lostThen || after[len(after)-1] != "more" {
			t.Errorf("%d frames, lost %d; were %d, lost %d", len(after), lostThen, len(before), lost)
		}
		shut(t, log)
	})
}
