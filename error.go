package nova

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Code classifies an error for the other side and for retries. The numbers are
// gRPC's and travel on the wire.
type Code int

// The codes. UnknownOutcome never travels: the side that waited for an answer says
// that the request may or may not have been handled.
const (
	OK                 Code = 0
	Cancelled          Code = 1
	Unknown            Code = 2
	Invalid            Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	AlreadyExists      Code = 6
	Denied             Code = 7
	Exhausted          Code = 8
	FailedPrecondition Code = 9
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	Unauthenticated    Code = 16
	UnknownOutcome     Code = 100
)

// String returns the text used in JSON, e.g. "deadline_exceeded".
func (c Code) String() string {
	switch c {
	case OK:
		return "ok"
	case Cancelled:
		return "cancelled"
	case Unknown:
		return "unknown"
	case Invalid:
		return "invalid"
	case DeadlineExceeded:
		return "deadline_exceeded"
	case NotFound:
		return "not_found"
	case AlreadyExists:
		return "already_exists"
	case Denied:
		return "denied"
	case Exhausted:
		return "exhausted"
	case FailedPrecondition:
		return "failed_precondition"
	case Unimplemented:
		return "unimplemented"
	case Internal:
		return "internal"
	case Unavailable:
		return "unavailable"
	case Unauthenticated:
		return "unauthenticated"
	case UnknownOutcome:
		return "unknown_outcome"
	}
	return fmt.Sprintf("code(%d)", int(c))
}

// HTTPStatus returns the status the HTTP API answers for the code.
func (c Code) HTTPStatus() int {
	switch c {
	case OK:
		return http.StatusOK
	case Invalid:
		return http.StatusBadRequest
	case Unauthenticated:
		return http.StatusUnauthorized
	case Denied:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case AlreadyExists:
		return http.StatusConflict
	case Exhausted:
		return http.StatusTooManyRequests
	case DeadlineExceeded:
		return http.StatusGatewayTimeout
	case Unimplemented:
		return http.StatusNotImplemented
	case Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Error is the one error type at nova's edge.
type Error struct {
	Code    Code
	Message string
	cause   error
}

// Errorf makes an Error; %w keeps the cause for errors.Is and errors.As.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	cause := errors.Unwrap(err)
	if _, several := err.(interface{ Unwrap() []error }); several {
		cause = err
	}
	return &Error{Code: code, Message: err.Error(), cause: cause}
}

func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of an error: that of the first *Error in its chain,
// Cancelled or DeadlineExceeded for the context errors, OK for nil, else Unknown.
func CodeOf(err error) Code {
	var coded *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	}
	return Unknown
}
