package ws

import (
	"fmt"
	"unicode/utf8"
)

// Close codes of RFC 6455, section 7.4, as far as this package uses them.
const (
	CodeNormal    = 1000
	CodeProtocol  = 1002
	CodeNoStatus  = 1005 // the close frame had no code; never sent
	CodeAbnormal  = 1006 // no close frame came; never sent
	CodeBadUTF8   = 1007
	CodeTooBig    = 1009
	maxControl    = 125
	maxReasonSize = maxControl - 2
)

// CloseError is the end of a connection as a close frame tells it: either what
// a peer's violation has to be answered with, or what the peer sent.
type CloseError struct {
	Code   int
	Reason string
}

func (e *CloseError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("websocket closed with %d", e.Code)
	}
	return fmt.Sprintf("websocket closed with %d: %s", e.Code, e.Reason)
}

func violation(format string, args ...any) error {
	return &CloseError{Code: CodeProtocol, Reason: fmt.Sprintf(format, args...)}
}

// ValidCode reports whether a close frame may carry code: registered codes that
// are not reserved, and 3000 to 4999.
func ValidCode(code int) bool {
	switch {
	case code >= 3000:
		return code <= 4999
	case code >= 1007:
		return code <= 1014
	default:
		return code >= 1000 && code <= 1003
	}
}

// ParseClose returns the code and reason in the payload of a close frame. An
// empty payload gives CodeNoStatus. A payload of one byte or with a code that
// may not be sent gives a *CloseError with 1002, bad UTF-8 one with 1007.
// [Parser.Feed] has checked what it delivers.
func ParseClose(payload []byte) (code int, reason string, err error) {
	if len(payload) == 0 {
		return CodeNoStatus, "", nil
	}
	if len(payload) == 1 {
		return 0, "", violation("close frame with 1 byte")
	}
	code = int(payload[0])<<8 | int(payload[1])
	if !ValidCode(code) {
		return 0, "", violation("close frame with code %d", code)
	}
	if !utf8.Valid(payload[2:]) {
		return 0, "", &CloseError{Code: CodeBadUTF8, Reason: "close reason is not UTF-8"}
	}
	return code, string(payload[2:]), nil
}

// AppendClosePayload appends the payload of a close frame. A reason longer than
// 123 bytes is cut between two characters; bad UTF-8 in it becomes U+FFFD. A
// code that may not be sent, such as CodeNoStatus, gives an empty payload.
func AppendClosePayload(dst []byte, code int, reason string) []byte {
	if !ValidCode(code) {
		return dst
	}
	dst = append(dst, byte(code>>8), byte(code))
	start := len(dst)
	for _, r := range reason {
		if len(dst)-start+utf8.RuneLen(r) > maxReasonSize {
			break
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
