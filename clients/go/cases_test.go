package remit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var kinds = map[string]Kind{
	"Unavailable": ErrUnavailable, "NotAnOutage": ErrNotAnOutage, "MalformedAnswer": ErrMalformedAnswer,
	"Refused": ErrRefused, "Throttled": ErrThrottled,
}

var here = context.Background()

func TestAToolDoesNotRunWithoutAYes(t *testing.T) {
	for _, one := range shared.Cases {
		one := one
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			client, _ := at(t, one)
			gate := Gate{Client: client, Agent: "bot"}
			verdict, err := gate.Judge(here, "tool", map[string]any{"a": 1}, Where{})
			if verdict.Runs || verdict.Arguments != nil {
				t.Fatal("it runs")
			}
			shown := fmt.Sprintf("%v %+v %#v %v %s %+v", err, err, client, client, ForAgent(err), verdict)
			if strings.Contains(shown, testKey) {
				t.Error("the key is shown")
			}
			if one.Raised == "Denied" || one.Raised == "ApprovalPending" {
				if err != nil || verdict.Waits != (one.Raised == "ApprovalPending") || !strings.Contains(verdict.Text, one.Says) {
					t.Errorf("%v %+v", err, verdict)
				}
				return
			}
			var known *Error
			if !errors.As(err, &known) || known.Kind != kinds[one.Raised] || !strings.Contains(err.Error(), one.Says) {
				t.Errorf("%+v", err)
			}
		})
	}
}

func TestOnlyAMissingDecisionIsLetThroughOnRequest(t *testing.T) {
	for _, one := range shared.Cases {
		one := one
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			client, server := at(t, one)
			warned := 0
			gate := Gate{Client: client, Agent: "bot", RunsUndecided: true, Warn: func(string) { warned++ }}
			verdict, err := gate.Judge(here, "tool", map[string]any{"a": 1}, Where{})
			lets := one.Raised == "Unavailable"
			if verdict.Runs != lets || (warned == 1) != lets || (err == nil && !lets && verdict.Text == "") {
				t.Fatalf("%+v %v", verdict, err)
			}
			if names := server.names(); lets && len(names) > 0 && (len(names) != 2 || names[0] != names[1] || names[0] == "") {
				t.Error("Remit is asked once more, about the same call:", names)
			}
			if lets {
				large := map[string]any{"x": strings.Repeat("a", 66_000)}
				verdict, err = gate.Judge(here, "tool", large, Where{})
				if verdict.Runs || !errors.Is(err, ErrNotAnOutage) || !strings.Contains(err.Error(), "may itself be the cause") {
					t.Errorf("a large call is let through: %+v %v", verdict, err)
				}
			}
		})
	}
}

func TestArgumentsThatTwoParsersReadDifferentlyAreNotSent(t *testing.T) {
	server := serve(t, nil, "", yes)
	gate := Gate{Client: clientOf(t, server.url, patient, nil), Agent: "bot"}
	for _, text := range append(shared.Ambiguous, `[]`, `"a"`, `{} {}`, `{"a": 1e999}`, `{"a": 9007199254740993}`) {
		verdict, err := gate.Judge(here, "tool", json.RawMessage(text), Where{})
		if verdict.Runs || !errors.Is(err, ErrNotJSON) {
			t.Errorf("%s: %+v %v", text, verdict, err)
		}
	}
	if len(server.names()) != 0 {
		t.Error("Remit is asked")
	}
	if _, err := gate.Judge(here, "tool", map[string]any{"a": int64(9007199254740993)}, Where{}); err != nil {
		t.Error("a number with a type of its own keeps its digits:", err)
	}
	for name, spellings := range shared.Spellings {
		for _, same := range spellings.Same {
			if folded(same) != folded(name) {
				t.Errorf("%q is not %q", same, name)
			}
		}
		for _, other := range spellings.Other {
			if folded(other) == folded(name) {
				t.Errorf("%q is %q", other, name)
			}
		}
	}
}

func TestWhatIsChangedWhileRemitIsAskedDoesNotRun(t *testing.T) {
	server := serve(t, nil, "", yes)
	gate := Gate{Client: clientOf(t, server.url, patient, nil), Agent: "bot"}
	lines := []int{1}
	verdict, err := gate.Judge(here, "tool", map[string]any{"lines": lines, "html": "<&>"}, Where{})
	lines[0] = 9000
	if err != nil || string(verdict.Arguments) != `{"html":"<&>","lines":[1]}` {
		t.Errorf("%s %v", verdict.Arguments, err)
	}
	if !strings.Contains(server.asked[0], `"parameters":{"html":"<&>","lines":[1]}`) {
		t.Error(server.asked[0])
	}
}

func TestAPlaceNamesACallWhateverTheOrderOfItsArguments(t *testing.T) {
	server := serve(t, nil, "", yes)
	gate := Gate{Client: clientOf(t, server.url, patient, nil), Agent: "bot"}
	judge := func(text string, place ...any) {
		if _, err := gate.Judge(here, "tool", json.RawMessage(text), Where{Place: place}); err != nil {
			t.Fatal(err)
		}
	}
	judge(`{"a": 1, "b": 2}`, "run", 1)
	judge(`{"b": 2, "a": 1}`, "run", 1)
	judge(`{"a": 1, "b": 3}`, "run", 1)
	judge(`{"a": 1, "b": 2}`, "run", 2)
	judge(`{"a": 1, "b": 2}`)
	names := server.names()
	if names[0] != names[1] || len(names[0]) != 64 || names[4] != "" {
		t.Error(names)
	}
	if names[2] == names[0] || names[3] == names[0] || names[2] == names[3] {
		t.Error(names)
	}
}

func TestACallWhoseNameIsLostIsACallOfItsOwn(t *testing.T) {
	for _, code := range []string{"IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_STALE", "LIMIT_REACHED"} {
		server := serve(t, nil, "", sayOf(`{"status": 409, "problem": "`+code+`"}`), yes)
		gate := Gate{Client: clientOf(t, server.url, patient, nil), Agent: "bot"}
		verdict, err := gate.Judge(here, "tool", nil, Where{Place: []any{1}})
		if names := server.names(); err != nil || !verdict.Runs || len(names) != 2 || names[0] == "" || names[1] != "" {
			t.Error(code, verdict, err, names)
		}
	}
}

func TestWithWaitAnApprovedCallRunsAfterTheYes(t *testing.T) {
	decided := func(status string) *said {
		return sayOf(`{"body": {"id": "a1", "status": "` + status + `", "approvals": [{"by": {"name": "Eve"}, "note": "not today"}]}}`)
	}
	for _, one := range []struct {
		answers []*said
		runs    bool
		waits   bool
		says    string
	}{
		{[]*said{escalated, decided("approved"), yes}, true, false, ""},
		{[]*said{escalated, decided("approved"), escalated}, false, true, "Approval a1 waits"},
		{[]*said{escalated, decided("denied")}, false, false, `denied by "Eve": not today. The same call`},
		{[]*said{escalated, decided("expired")}, false, false, "asks for a new approval"},
		{[]*said{escalated, decided("approved"), no}, false, false, "It is late"},
	} {
		server := serve(t, nil, "", one.answers...)
		gate := Gate{Client: clientOf(t, server.url, patient, nil), Agent: "bot", Wait: patient}
		verdict, err := gate.Judge(here, "tool", nil, Where{})
		if err != nil || verdict.Runs != one.runs || verdict.Waits != one.waits || !strings.Contains(verdict.Text, one.says) {
			t.Errorf("%+v %v", verdict, err)
		}
	}
}

func TestAContextThatIsDoneIsNoOutage(t *testing.T) {
	server := serve(t, nil, "", nil)
	ended, cancel := context.WithCancel(here)
	cancel()
	gate := Gate{Client: clientOf(t, server.url, patient, nil), Agent: "bot", RunsUndecided: true}
	verdict, err := gate.Judge(ended, "tool", nil, Where{})
	if verdict.Runs || !errors.Is(err, ErrInterrupted) || !errors.Is(err, ErrNotAnOutage) || !errors.Is(err, ErrUnavailable) {
		t.Error(verdict, err)
	}
}

func TestAHostThatRefusesOnlyAtOneOfItsAddressesIsNoOutage(t *testing.T) {
	_, refusal := net.Dial("tcp", strings.TrimPrefix(closedPort(t), "http://"))
	late := errors.New("i/o timeout")
	if !isAway(&unreached{[]error{refusal, refusal}}) || isAway(&unreached{[]error{refusal, late}}) || isAway(&unreached{}) {
		t.Error("what is away is told by one address")
	}
}

func TestADialEndsWithoutTheDeadlineOfARequest(t *testing.T) {
	address := silent(t)
	_, err := transportWithin(hurry).DialContext(here, "tcp", address)
	if err == nil || strings.Contains(err.Error(), syscall.ETIMEDOUT.Error()) { // when the system gives up, after minutes
		t.Error(err)
	}
}

// silent is the address of a listener that drops packets: its queue is full, and nobody takes connections from it.
func silent(t *testing.T) string {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(socket, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	for {
		connection, err := net.DialTimeout("tcp", address, hurry)
		if err != nil {
			return address
		}
		t.Cleanup(func() { connection.Close() })
	}
}

func TestWhatIsNoJSONIsSaidWithItsKind(t *testing.T) {
	server := serve(t, nil, "", yes)
	client := clientOf(t, server.url, patient, nil)
	no := func() {}
	for name, gate := range map[string]Gate{
		"arguments": {Client: client, Agent: "bot"},
		"place":     {Client: client, Agent: "bot"},
		"context":   {Client: client, Agent: "bot", Context: map[string]any{"session": no}},
	} {
		var arguments any
		var where Where
		switch name {
		case "arguments":
			arguments = map[string]any{"a": no}
		case "place":
			where.Place = []any{no}
		}
		if _, err := gate.Judge(here, "tool", arguments, where); !errors.Is(err, ErrNotJSON) {
			t.Error(name, err)
		}
	}
	if asked := server.names(); len(asked) > 0 {
		t.Error(asked)
	}
}

func TestNoCallIsMadeOnAConnectionThatItsServerIsAboutToClose(t *testing.T) {
	for file, pattern := range map[string]string{
		"../../app/http/protocol/states.py": `IDLE_SECONDS: Final = (\d+)`,
		"../../deploy/nginx.conf":           `client_body_timeout 10s;\s+keepalive_timeout (\d+)s`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatal(file)
		}
		kept, _ := time.ParseDuration(found[1] + "s")
		if 2*Transport().IdleConnTimeout > kept {
			t.Error(file, kept)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := serve(t, nil, "", yes)
	for _, status := range []int{301, 302, 303, 307, 308} {
		location := fmt.Sprintf(`{"status": %d, "body": null, "headers": ["Location: %s/v1/authorize"]}`, status, elsewhere.url)
		server := serve(t, nil, "", sayOf(location))
		_, err := clientOf(t, server.url, patient, nil).Authorize(here, Call{Agent: "bot", Tool: "tool"})
		if !errors.Is(err, ErrMalformedAnswer) || len(elsewhere.names()) != 0 {
			t.Error(status, err)
		}
	}
}

func TestAnAddressOrKeyThatCannotBeMeantIsRefused(t *testing.T) {
	for _, one := range []Options{
		{URL: "remit:8080", Key: testKey}, {URL: "ftp://remit", Key: testKey}, {URL: "http://u:p@remit", Key: testKey},
		{URL: "http://remit?x", Key: testKey}, {URL: "http://remit", Key: "a\nb"}, {URL: "http://remit", Key: ""},
	} {
		if _, err := New(one); err == nil || strings.Contains(err.Error(), testKey) {
			t.Error(one.URL, err)
		}
	}
}
