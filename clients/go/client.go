// Package remit asks Remit before an AI agent's tool runs. It needs the standard library only.
//
// A Client asks; a Gate judges each call of one agent and says what to do with it. Without a decision there is an
// error: do not run the tool then.
package remit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	idPrefix = "remit-client-"
	// What one request for an approval waits at most.
	poll           = 30 * time.Second
	defaultTimeout = 2 * time.Second
)

// Options of a client; what is left out is as New says.
type Options struct {
	URL, Key string
	// For the whole answer, from connecting to its last byte.
	Timeout time.Duration
	// In place of the client's own, which takes proxies from the environment and trusts the system's authorities. It
	// must tell apart what Transport's dialer tells apart, or there is no outage.
	Transport http.RoundTripper
}

// Client asks one service with one key. Share one; it is safe for concurrent use.
type Client struct {
	base          string
	timeout       time.Duration
	http          *http.Client
	authorization func() string // a function, so that no formatting shows the key
	ids           string
	number        atomic.Uint64
}

// New is a client of REMIT_URL with REMIT_API_KEY, unless the options name others, and a timeout of 2 s.
func New(options Options) (*Client, error) {
	base, key := options.URL, options.Key
	if base == "" {
		base = os.Getenv("REMIT_URL")
	}
	if key == "" {
		key = os.Getenv("REMIT_API_KEY")
	}
	parts, err := url.Parse(base)
	if err != nil || (parts.Scheme != "http" && parts.Scheme != "https") || parts.Host == "" {
		return nil, errors.New("the URL of Remit must be http://host:port or https://host")
	}
	if parts.User != nil || parts.RawQuery != "" || parts.Fragment != "" {
		return nil, errors.New("the URL of Remit must not contain a user, password, query or fragment; pass the key as Key")
	}
	if key == "" || strings.IndexFunc(key, func(letter rune) bool { return letter <= ' ' || letter > '~' }) >= 0 {
		return nil, errors.New("the key must be visible ASCII characters; set REMIT_API_KEY")
	}
	timeout, transport := options.Timeout, options.Transport
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	if transport == nil {
		transport = transportWithin(timeout)
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		base:          strings.TrimRight(base, "/"),
		timeout:       timeout,
		http:          &http.Client{Transport: transport, CheckRedirect: stay},
		authorization: func() string { return "Bearer " + key },
		ids:           idPrefix + hex.EncodeToString(random) + "-",
	}, nil
}

// Call is one call of a tool.
type Call struct {
	// The agent's id or alias, and the name that policies have for the tool.
	Agent, Tool string
	// What JSON has; of a json.RawMessage or a text of that type, no two parsers may read two things.
	Parameters any
	// What the caller vouches for and the agent cannot choose.
	Context map[string]any
	// "" = every question is a call of its own; otherwise up to 255 visible ASCII characters.
	IdempotencyKey string
}

// Authorize is the decision on a call. Only a decision that is Allowed permits it.
func (client *Client) Authorize(ctx context.Context, call Call) (Decision, error) {
	parameters, err := frozen(call.Parameters)
	if err != nil {
		return Decision{}, err
	}
	return client.authorize(ctx, call, parameters)
}

func (client *Client) authorize(ctx context.Context, call Call, parameters json.RawMessage) (Decision, error) {
	body := map[string]any{"agent_id": call.Agent, "tool_name": call.Tool, "parameters": parameters}
	if len(call.Context) > 0 {
		body["context"] = call.Context
	}
	var decision Decision
	err := client.send(ctx, request{
		method: http.MethodPost, path: "/v1/authorize", body: body, name: call.IdempotencyKey,
		read: func(answer []byte) (err error) { decision, err = readDecision(answer); return },
	})
	return decision, err
}

// Approval is the approval with this id, once it is decided or so much time has passed.
func (client *Client) Approval(ctx context.Context, id string, wait time.Duration) (Approval, error) {
	for until := time.Now().Add(wait); ; {
		left := time.Until(until)
		each := left
		if each > poll {
			each = poll
		}
		asked := request{method: http.MethodGet, path: "/v1/approvals/" + segment(id)}
		if each > 0 {
			seconds := int((each + time.Second - 1) / time.Second)
			asked.path += "?wait=" + strconv.Itoa(seconds)
			asked.longer = time.Duration(seconds) * time.Second
		}
		var approval Approval
		asked.read = func(answer []byte) (err error) { approval, err = readApproval(answer, id); return }
		err := client.send(ctx, asked)
		isAway := errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrInterrupted)
		switch {
		case err != nil && (!isAway || left < time.Second):
			return Approval{}, err
		case err == nil && (approval.Status != "pending" || time.Until(until) <= 0):
			return approval, nil
		case err != nil: // a replica that restarts; the approval is in the store
			select {
			case <-ctx.Done():
				return Approval{}, err
			case <-time.After(time.Second / 2):
			}
		}
	}
}

// Outcome is what became of an allowed call.
type Outcome string

const (
	Executed    Outcome = "executed"
	Failed      Outcome = "failed"
	NotExecuted Outcome = "not_executed"
)

// ReportOutcome says what became of an allowed call: once, with the key that asked. It ends the call's name.
func (client *Client) ReportOutcome(ctx context.Context, decision Decision, outcome Outcome) error {
	path := "/v1/decisions/" + segment(decision.ID) + "/outcome"
	nothing := func([]byte) error { return nil }
	return client.send(ctx, request{method: http.MethodPost, path: path, body: map[string]any{"status": outcome}, read: nothing})
}

type request struct {
	method, path, name string
	body               any
	longer             time.Duration
	read               func(answer []byte) error
}

// send is nil once the answer is read. Otherwise it is an *Error.
func (client *Client) send(ctx context.Context, asked request) error {
	var body bytes.Buffer
	if asked.body != nil {
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(asked.body); err != nil {
			return errorOf(ErrNotJSON, "The context of a call must be JSON: %v.", err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, client.timeout+asked.longer)
	defer cancel()
	made, err := http.NewRequestWithContext(limited, asked.method, client.base+asked.path, &body)
	if err != nil {
		return err
	}
	id := client.ids + strconv.FormatUint(client.number.Add(1), 10)
	made.Header.Set("Authorization", client.authorization())
	made.Header.Set("Accept", "application/json")
	made.Header.Set("Accept-Encoding", "identity")
	made.Header.Set("X-Request-Id", id)
	if asked.body != nil {
		made.Header.Set("Content-Type", "application/json")
	}
	if asked.name != "" {
		made.Header.Set("Idempotency-Key", asked.name)
	}
	answer, err := client.http.Do(made)
	if err != nil {
		return client.explained(ctx, err)
	}
	defer answer.Body.Close()
	text, err := textOf(answer)
	if err != nil {
		return client.explained(ctx, err)
	}
	if answered := answer.Header.Get("X-Request-Id"); answered != id && strings.HasPrefix(answered, idPrefix) {
		return errorOf(ErrMalformedAnswer, "%s sent the answer to another request. Something between here and Remit mixes "+
			"answers up, so no answer that comes through it can be trusted.", client.base)
	}
	return interpret(asked.method+" "+client.base+asked.path, answer, text, asked.read)
}

// segment is a name, quoted as one segment of a path: its slashes and dots cannot lead elsewhere.
func segment(name string) string {
	return strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
}
