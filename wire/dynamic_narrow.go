package wire

import (
	"encoding/binary"
	"math"
	"strconv"
)

// narrowBits returns the bits of an integer kind and whether it is signed.
func narrowBits(k Kind) (bits int, signed bool) {
	switch k {
	case Int8, Int16, Int32:
		return 8 * k.size(), true
	}
	return 8 * k.size(), false
}

// narrowRange returns the least and the greatest value of an integer kind.
func narrowRange(k Kind) (low, high string) {
	bits, signed := narrowBits(k)
	if signed {
		return strconv.FormatInt(-1<<(bits-1), 10), strconv.FormatInt(1<<(bits-1)-1, 10)
	}
	return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
}

// narrow writes a number of a kind besides int64 and double.
func (e *jsonEncoder) narrow(f *Field, slot, at int) *JSONError {
	if f.Kind == Float32 {
		v, err := e.float64(f, at)
		if err != nil {
			return err
		}
		single := float32(v)
		if math.IsInf(float64(single), 0) && !math.IsInf(v, 0) {
			return e.wrong("a number of magnitude up to 3.4028235e38", at)
		}
		if v != v {
			single = math.Float32frombits(0x7FC00000) // the NaN of JavaScript
		}
		storeNumber(e.b[slot:], single)
		return nil
	}
	t := e.tokens[at]
	text := string(e.src[t.start:t.end])
	if t.kind != tokNumber && (t.kind != tokString || !wholeNumber(text)) {
		return e.wrong(e.layout.wantsOne(f), at)
	}
	whole, negative, fits, err := parseWhole(text)
	if err != nil {
		return err
	}
	bits, signed := narrowBits(f.Kind)
	most := uint64(math.MaxUint64) >> (64 - bits)
	if signed {
		most >>= 1
	}
	if !fits || negative && whole > 0 && (!signed || whole > most+1) || !negative && whole > most {
		return e.wrong(e.layout.wantsOne(f), at)
	}
	v := whole
	if negative {
		v = -whole
	}
	switch f.Kind.size() {
	case 1:
		e.b[slot] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(e.b[slot:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(e.b[slot:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(e.b[slot:], v)
	}
	return nil
}

func zeroNarrow(k Kind) string {
	if k == Uint64 {
		return `"0"`
	}
	return "0"
}

// appendNarrow writes the number at the start of buf; those of 64 bits are strings.
func appendNarrow(b []byte, k Kind, buf []byte) []byte {
	switch k {
	case Int8:
		return strconv.AppendInt(b, int64(int8(buf[0])), 10)
	case Int16:
		return strconv.AppendInt(b, int64(int16(binary.LittleEndian.Uint16(buf))), 10)
	case Int32:
		return strconv.AppendInt(b, int64(int32(binary.LittleEndian.Uint32(buf))), 10)
	case Uint8:
		return strconv.AppendUint(b, uint64(buf[0]), 10)
	case Uint16:
		return strconv.AppendUint(b, uint64(binary.LittleEndian.Uint16(buf)), 10)
	case Uint32:
		return strconv.AppendUint(b, uint64(binary.LittleEndian.Uint32(buf)), 10)
	case Uint64:
		return append(strconv.AppendUint(append(b, '"'), binary.LittleEndian.Uint64(buf), 10), '"')
	}
	return appendJSONFloat32(b, math.Float32frombits(binary.LittleEndian.Uint32(buf)))
}

// appendJSONFloat32 writes the shortest text that reads back as v when it is
// rounded to a float.
func appendJSONFloat32(b []byte, v float32) []byte {
	wide := float64(v)
	if wide-wide != 0 || wide == 0 {
		return appendJSONFloat64(b, wide)
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(wide, 'g', -1, 32), 64)
	if err != nil {
		return appendJSONFloat64(b, wide)
	}
	return appendJSONFloat64(b, short)
}
