package nova

import (
	"context"
	"errors"
)

// ReplyError makes the error of a code and message that came from the other side.
// Codes that mean nothing here are Unknown.
func ReplyError(code int64, message string) *Error {
	c := Code(code)
	if !c.travels() {
		c = Unknown
	}
	return &Error{Code: c, Message: message}
}

// travels reports whether a reply may carry the code of an error.
func (c Code) travels() bool {
	switch c {
	case Cancelled, Unknown, Invalid, DeadlineExceeded, NotFound, AlreadyExists, Denied, Exhausted, FailedPrecondition,
		Unimplemented, Internal, Unavailable, Unauthenticated:
		return true
	}
	return false
}

// ReplyTo returns what a caller is told about the error of its handler, which ran
// with ctx: code and message of an *Error, and of ctx when that is the cause. Of any
// other it learns nothing, and hidden is true: somebody has to log it.
func ReplyTo(ctx context.Context, err error) (code Code, message string, hidden bool) {
	var coded *Error
	switch {
	case err == nil:
		return OK, "", false
	case errors.As(err, &coded):
		if coded.Code.travels() {
			return coded.Code, coded.Message, false
		}
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return CodeOf(ctx.Err()), ctx.Err().Error(), false
	}
	return Internal, "internal error", true
}
