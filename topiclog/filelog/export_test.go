package filelog

import "io"

// For the tests: the seam to the file system, and the segment reader.

type (
	FS   = fileSystem
	File = file
)

// OS is the real file system.
var OS FS = osFS{}

// WithFS returns options whose log uses fs and reserves block offsets at once, 0
// for the default.
func WithFS(o Options, fs FS, block uint64) Options {
	o.fs, o.block = fs, block
	return o
}

// Record is what the segment reader found.
type Record struct {
	At     int64
	Length int
	Kind   byte
	Topic  uint64
	Offset uint64
	ID     string
	Frame  string
}

// Scan reads records as Open does. problem is nil when all of size was good.
func Scan(r io.ReaderAt, size int64) (records []Record, end int64, problem error) {
	end, d, err := scan(r, 0, size, func(at int64, length int, r record) error {
		records = append(records, Record{At: at, Length: length, Kind: r.kind, Topic: r.topic, Offset: r.offset, ID: string(r.id), Frame: string(r.frame)})
		return nil
	})
	if err != nil {
		return records, end, err
	}
	if d != nil {
		return records, end, d.cause
	}
	return records, end, nil
}

// FrameRecord, TopicRecord, ReserveRecord and EndRecord append as the log does.
var (
	FrameRecord   = appendFrame
	TopicRecord   = appendTopic
	ReserveRecord = appendReserve
	EndRecord     = appendEnd
)

const (
	HeaderSize = segmentHead
)

// ErrVersion is inside the errors about another format.
var ErrVersion = errVersion
