package cgo

// #include <stdint.h>
import "C"

//nova:event a
type A struct {
	X C.int
}
