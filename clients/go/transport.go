package remit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

const maxAnswerBytes = 64 << 20

// Transport is what a client uses if it is given none. Its dialer tells a host that refuses at all of its addresses
// from one that refuses at some: connections of the others may be held, by an agent, until Remit drops new ones.
func Transport() *http.Transport { return transportWithin(defaultTimeout) }

func transportWithin(limit time.Duration) *http.Transport {
	made := http.DefaultTransport.(*http.Transport).Clone()
	made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		// From 1.23 on, Go dials without the deadline of the request.
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, address)
	}
	made.DisableCompression = true
	made.MaxIdleConnsPerHost = 100
	// Sooner than Remit and nginx close them: a call on a connection that is being closed has no decision.
	made.IdleConnTimeout = 30 * time.Second
	return made
}

// unreached has one error for each address that was tried.
type unreached struct{ each []error }

func (err *unreached) Error() string {
	said := make([]string, len(err.each))
	for place, one := range err.each {
		said[place] = one.Error()
	}
	return strings.Join(said, "; ")
}

// dial connects to one of the host's addresses before the deadline of the context.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	until, _ := ctx.Deadline()
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	refused := &unreached{}
	for place, each := range found {
		// Each address has its part of what is left, so that one that drops packets does not take all of it.
		limited, cancel := context.WithTimeout(ctx, time.Until(until)/time.Duration(len(found)-place))
		connection, err := dialer.DialContext(limited, network, net.JoinHostPort(each.String(), port))
		cancel()
		if err == nil {
			return connection, nil
		}
		refused.each = append(refused.each, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, refused
}

// isAway holds if nothing listens where Remit should be: no such host, or every address refuses.
func isAway(err error) bool {
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return unknown.IsNotFound && !unknown.IsTimeout && !unknown.IsTemporary
	}
	var refused *unreached
	if !errors.As(err, &refused) {
		return false
	}
	for _, each := range refused.each {
		if !errors.Is(each, syscall.ECONNREFUSED) {
			return false
		}
	}
	return len(refused.each) > 0
}

func textOf(answer *http.Response) ([]byte, error) {
	tooLarge := &Error{Kind: ErrMalformedAnswer, Message: fmt.Sprintf("%s answered with more than %d MiB.",
		answer.Request.URL.Redacted(), maxAnswerBytes>>20)}
	if answer.ContentLength > maxAnswerBytes {
		return nil, tooLarge
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
	if err == nil && len(text) > maxAnswerBytes {
		return nil, tooLarge
	}
	return text, err
}
