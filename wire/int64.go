package wire

import "fmt"

// MaxSafe is the largest integer that a JavaScript number holds exactly.
const MaxSafe = 1<<53 - 1

// Int64Error names a plain int64 value that JavaScript cannot hold exactly.
// Declare the field as bigint to send such values.
type Int64Error struct {
	Path  string
	Value int64
}

func (e *Int64Error) Error() string {
	return fmt.Sprintf("%s: %d is outside ±(2^53−1) and would change in a browser; declare the field as bigint", e.Path, e.Value)
}

// SafeInt64 reports whether v lies within ±(2^53−1).
func SafeInt64(v int64) bool { return v >= -MaxSafe && v <= MaxSafe }
