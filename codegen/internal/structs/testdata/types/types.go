package types

import (
	"encoding/json"
	"math/big"
	"sync"
	"time"
	"unsafe"
)

// Bad has all that cannot be sent.
//
//nova:event bad
type Bad struct {
	Any     any
	Err     error
	Ch      chan int
	Fn      func()
	C64     complex64
	C128    complex128
	Uint    uint
	Ptr     uintptr
	Unsafe  unsafe.Pointer
	Array   [16]byte
	Anon    struct{ X int }
	Anons   []struct{ X int }
	Generic Pair[int]
	Twice   **int
	PtrList *[]int
	PtrMap  *map[string]int
	Nulls   []*int
	NullMap map[string]*string
	IntMap  map[int]string
	Raw     json.RawMessage
	Num     big.Int
	Missing Nowhere
	Self    Selves
	Times   []*time.Time
	small   int
	other   string `json:"other"`
	Lower   lower
	Named   *named
	Point   Pointer
	Holder  Holder
	*Embedded
	fmtless
	Omit    Embedded `json:"omit,omitempty"`
	Bare    int      `bare`
	Text    string   `json:"text,string"`
	Option  int      `json:"option,inline"`
	Words   int      `nova:"secrt,min=x"`
	Null    int      `nova:"nullable"`
	BigText string   `nova:"bigint"`
	Same    int      `json:"same"`
	Same2   int      `json:"same"`
	_       int
	Fine    int `json:"-"`
	hush    int `json:"-"`
}

type Pair[T any] struct{ A, B T }

type Selves []Selves

type lower struct{ X int }

type named string

type Pointer *int

// Holder has a lock.
type Holder struct {
	sync.Mutex
	N int
}

type Embedded struct{ E int }

type fmtless interface{ F() }
