package filelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A segment file is a header, the state of the topics when it was begun (topic
// records and an end record), then what was appended.
//
//	8 bytes "novalog\n" · u32 LE version · u64 LE number · i64 LE creation, Unix ms
//	· u32 LE CRC-32C of the 28 bytes before
const (
	segmentMagic  = "novalog\n"
	formatVersion = 1
	segmentHead   = 32
	segmentSuffix = ".seg"
)

// segment is one file. The log's mutex guards it, but for size, which only the
// loop uses.
type segment struct {
	number  uint64
	name    string // path
	file    file
	created time.Time
	size    int64
	state   int64 // length of header and topic state
	frames  int

	readers int  // calls of Range that read the file
	gone    bool // deleted: the last reader closes the file
}

func segmentName(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016x%s", number, segmentSuffix))
}

// segmentNumber is the inverse, for base names.
func segmentNumber(name string) (uint64, bool) {
	hex, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(hex) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(hex, 16, 64)
	return n, err == nil
}

func appendHeader(b []byte, number uint64, created time.Time) []byte {
	start := len(b)
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = binary.LittleEndian.AppendUint64(b, number)
	b = binary.LittleEndian.AppendUint64(b, uint64(created.UnixMilli()))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// errVersion is no damage: another build wrote the file.
var errVersion = errors.New("wrong format version")

func parseHeader(b []byte) (number uint64, created time.Time, err error) {
	if len(b) < segmentHead {
		return 0, created, errShort
	}
	if string(b[:8]) != segmentMagic {
		return 0, created, errors.New("no segment header")
	}
	if crc32.Checksum(b[:segmentHead-4], castagnoli) != binary.LittleEndian.Uint32(b[segmentHead-4:]) {
		return 0, created, errSum
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != formatVersion {
		return 0, created, fmt.Errorf("%w %d; this build reads version %d", errVersion, v, formatVersion)
	}
	return binary.LittleEndian.Uint64(b[12:]), time.UnixMilli(int64(binary.LittleEndian.Uint64(b[20:]))), nil
}

// damage says where a segment stops making sense. cut: the file just ends inside
// a record, as after a write that was not finished.
type damage struct {
	at    int64
	cause error
	cut   bool
}

// scan calls fn with every record of [from, size) until one is bad or fn refuses
// it, and returns where the good ones end. The record's bytes are valid during
// the call. err is a failure to read.
func scan(f io.ReaderAt, from, size int64, fn func(at int64, length int, r record) error) (end int64, d *damage, err error) {
	buf := make([]byte, 0, min(1<<20, max(size-from, 0)))
	rest := buf // parsed up to here
	for at := from; ; {
		r, n, err := parse(rest)
		if errors.Is(err, errShort) {
			left := size - at
			if left == 0 {
				return at, nil, nil
			}
			if int64(n) > left {
				return at, &damage{at: at, cause: err, cut: true}, nil
			}
			if n > cap(buf) {
				buf = make([]byte, 0, n)
			}
			buf = buf[:min(int64(cap(buf)), left)]
			m, err := f.ReadAt(buf, at)
			if err != nil && !errors.Is(err, io.EOF) {
				return at, nil, err
			}
			if m < n { // shorter than it said
				return at, &damage{at: at, cause: errShort, cut: true}, nil
			}
			rest = buf[:m]
			continue
		}
		if err == nil {
			err = fn(at, n, r)
		}
		if err != nil {
			return at, &damage{at: at, cause: err}, nil
		}
		rest = rest[n:]
		at += int64(n)
	}
}
