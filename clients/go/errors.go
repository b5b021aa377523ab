package remit

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// Kind says why there is no yes; errors.Is(err, kind) tells.
type Kind string

func (kind Kind) Error() string { return string(kind) }

const (
	// There is no decision: nothing listens where Remit should be, or Remit or its balancer says that it is away.
	ErrUnavailable Kind = "unavailable"
	// There is no decision, and an agent may be why. It is ErrUnavailable, too.
	ErrNotAnOutage Kind = "not an outage"
	// The context was done: this program itself ended the call. It is ErrNotAnOutage, too.
	ErrInterrupted Kind = "interrupted"
	// The answer did not come from Remit, so nothing was allowed.
	ErrMalformedAnswer Kind = "malformed answer"
	// Remit refused the request itself (4xx): a wrong key, an unknown agent, an invalid field.
	ErrRefused Kind = "refused"
	// 429: too many requests. It is ErrRefused, too.
	ErrThrottled Kind = "throttled"
	// The arguments of a call are no JSON, or can be read in two ways; or its context or place is no JSON.
	ErrNotJSON Kind = "not JSON"
)

var wider = map[Kind]Kind{ErrNotAnOutage: ErrUnavailable, ErrInterrupted: ErrNotAnOutage, ErrThrottled: ErrRefused}

// Error is why there is no decision. Its message says what to do, and has neither the key nor parameters.
type Error struct {
	Kind    Kind
	Message string
	// Of an answer that is no decision: its status and Remit's code for it, one of docs/errors.md.
	Status int
	Code   string
	// After a 429, if it says so.
	RetryAfter time.Duration
	cause      error
}

func (err *Error) Error() string { return err.Message }

func (err *Error) Unwrap() error { return err.cause }

// Is holds for the error's kind and for those that it is a kind of.
func (err *Error) Is(target error) bool {
	for kind, isOne := err.Kind, true; isOne; kind, isOne = wider[kind] {
		if error(kind) == target {
			return true
		}
	}
	return false
}

// ForAgent is what a model is told in place of the tool's result, whatever the error is.
func ForAgent(err error) string {
	var known *Error
	switch {
	case !errors.As(err, &known):
		return "The tool was not run, because asking for permission failed."
	case known.Code == "PAYLOAD_TOO_LARGE":
		return "The tool was not run: its arguments are too large to be judged. Send less at a time."
	case errors.Is(err, ErrRefused): // the model can do nothing about the key or the configuration
		return fmt.Sprintf("The tool was not run, because the authorization service refused the request (%s).", known.Code)
	}
	return "The tool was not run. " + known.Message
}

func errorOf(kind Kind, format string, given ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, given...)}
}

// explained says why a request had no answer.
func (client *Client) explained(ctx context.Context, err error) error {
	var known *Error
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var operation *net.OpError
	made := errorOf(ErrNotAnOutage, "Remit at %s cannot be reached (%v). Check REMIT_URL and that it is running.", client.base, err)
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		made = errorOf(ErrInterrupted, "The call to Remit was ended by its context.")
	case errors.Is(err, context.DeadlineExceeded):
		made.Message = fmt.Sprintf("Remit at %s did not answer within %s. Check that it is healthy (GET /readyz), or "+
			"raise Timeout.", client.base, client.timeout)
	case errors.As(err, &unknown), errors.As(err, &other), errors.As(err, &invalid):
		made = errorOf(ErrMalformedAnswer, "The server at %s could not prove that it is Remit (%v). Check REMIT_URL, or let "+
			"the program trust your own authority if it signed the server's certificate (SSL_CERT_FILE).", client.base, err)
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		made.Message = fmt.Sprintf("The proxy to Remit at %s cannot be reached (%v). Check HTTPS_PROXY and NO_PROXY.",
			client.base, err)
	case isAway(err):
		made.Kind = ErrUnavailable
	}
	made.cause = err
	return made
}
