package remit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const largeBytes = 64 << 10

// Gate judges each call of one agent once, however often the program comes back to it.
type Gate struct {
	Client *Client
	Agent  string
	// What the program vouches for in every call; it takes precedence over that of a call.
	Context map[string]any
	// How long an escalated call waits for a person.
	Wait time.Duration
	// Calls of up to 64 KiB run without a decision during an outage, after Remit has been asked once more, and Warn is
	// told of each. What the agent itself can cause is no outage (ErrNotAnOutage).
	RunsUndecided bool
	Warn          func(string)
}

// Where says what the program knows of a call beside its tool and arguments.
type Where struct {
	// For this call only, such as the session.
	Context map[string]any
	// Values that are the same whenever the program comes back to this call, and different for every other one. Such
	// questions are one call, which counts once. Ids that a model has written name nothing by themselves.
	Place []any
}

// Verdict is what to do with a call: run the tool with Arguments and nothing else if Runs, otherwise let the model read
// Text.
type Verdict struct {
	Runs      bool
	Arguments json.RawMessage
	// A person must approve the call. Make it again, at the same place, once they have.
	Waits bool
	Text  string
	// What people decided; nil if nobody did.
	Approval *Approval
	Decision Decision
}

// Judge says what to do with the call. With an error there is no decision: do not run the tool.
func (gate *Gate) Judge(ctx context.Context, tool string, arguments any, where Where) (Verdict, error) {
	parameters, err := frozen(arguments)
	if err != nil {
		return Verdict{}, err
	}
	asked := Call{Agent: gate.Agent, Tool: tool, Context: merged(where.Context, gate.Context)}
	if where.Place != nil {
		if asked.IdempotencyKey, err = gate.name(tool, parameters, where.Place); err != nil {
			return Verdict{}, err
		}
	}
	decision, err := gate.ask(ctx, asked, parameters)
	if err != nil {
		decision, err = gate.undecided(tool, parameters, err)
	}
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Runs: decision.Allowed, Arguments: parameters, Decision: decision}
	if decision.Result == "escalated" {
		err = gate.askAPerson(ctx, asked, parameters, &verdict)
	}
	if !verdict.Runs {
		verdict.Arguments = nil
		verdict.Text = verdict.said(tool)
	}
	return verdict, err
}

// Ended reports that the tool has run to its end, with the error that it gave or nil, which ends the call's name.
func (gate *Gate) Ended(ctx context.Context, verdict Verdict, failed error) error {
	if !verdict.Runs || verdict.Decision.ID == "" {
		return nil
	}
	outcome := Executed
	if failed != nil {
		outcome = Failed
	}
	return gate.Client.ReportOutcome(ctx, verdict.Decision, outcome)
}

// ask sends the question; where a name is lost it asks once more without one, as a call of its own, which is counted.
func (gate *Gate) ask(ctx context.Context, asked Call, parameters json.RawMessage) (Decision, error) {
	if gate.RunsUndecided && asked.IdempotencyKey == "" {
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return Decision{}, err
		}
		asked.IdempotencyKey = hex.EncodeToString(random)
	}
	decision, err := gate.Client.authorize(ctx, asked, parameters)
	if gate.RunsUndecided && isOutage(err) {
		decision, err = gate.Client.authorize(ctx, asked, parameters)
	}
	var known *Error
	if errors.As(err, &known) && asked.IdempotencyKey != "" {
		switch known.Code {
		case "IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_STALE", "LIMIT_REACHED":
			asked.IdempotencyKey = ""
			return gate.Client.authorize(ctx, asked, parameters)
		}
	}
	return decision, err
}

// name is the Idempotency-Key of the call at this place. Edited arguments are another call.
func (gate *Gate) name(tool string, parameters json.RawMessage, place []any) (string, error) {
	var sorted any
	decoder := json.NewDecoder(strings.NewReader(string(parameters)))
	decoder.UseNumber()
	if err := decoder.Decode(&sorted); err != nil {
		return "", err
	}
	text, err := json.Marshal(append([]any{gate.Agent, tool, sorted}, place...))
	if err != nil {
		return "", errorOf(ErrNotJSON, "The place of a call must be JSON: %v.", err)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}

// undecided is the decision to run a tool without one, if the gate says so and this is an outage.
func (gate *Gate) undecided(tool string, parameters json.RawMessage, err error) (Decision, error) {
	if !gate.RunsUndecided || !isOutage(err) {
		return Decision{}, err
	}
	if len(tool)+len(parameters) > largeBytes {
		return Decision{}, &Error{Kind: ErrNotAnOutage, Message: err.Error() + " A call this large may itself be the cause.", cause: err}
	}
	if gate.Warn != nil {
		gate.Warn(fmt.Sprintf("%v The tool %q runs without a decision: RunsUndecided is set.", err, tool))
	}
	return Decision{Allowed: true, Result: "unavailable", Reason: err.Error()}, nil
}

func isOutage(err error) bool {
	return errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrNotAnOutage)
}

// askAPerson changes the verdict to what it is once a person has decided, or the gate's time to wait has passed.
func (gate *Gate) askAPerson(ctx context.Context, asked Call, parameters json.RawMessage, verdict *Verdict) error {
	until := time.Now().Add(gate.Wait)
	last := ""
	for verdict.Decision.Result == "escalated" {
		approval := verdict.Decision.Approval
		if approval != nil && approval.Status != "" && approval.Status != "pending" {
			verdict.Approval = &Approval{ID: approval.ID, Status: approval.Status}
			if ended, err := gate.Client.Approval(ctx, approval.ID, 0); err == nil {
				verdict.Approval = &ended
			}
			return nil
		}
		left := time.Until(until)
		if approval == nil || left <= 0 || approval.ID == last {
			break
		}
		last = approval.ID
		decided, err := gate.Client.Approval(ctx, approval.ID, left)
		if err != nil || decided.Status == "pending" {
			break
		}
		if decided.Status != "approved" && decided.Status != "consumed" {
			verdict.Approval = &decided
			return nil
		}
		// The same question again: the approval covers only this call, and policies may have changed.
		if verdict.Decision, err = gate.ask(ctx, asked, parameters); err != nil {
			return err
		}
		verdict.Runs = verdict.Decision.Allowed
	}
	verdict.Waits = verdict.Decision.Result == "escalated"
	return nil
}

var advice = map[string]string{
	"none":              "The same call will be denied again, so do not repeat it.",
	"change_parameters": "Change the parameters as the reason says and call the tool again.",
	"request_approval":  "A person must approve this call before it can run.",
}

// said is what the model reads of a call that does not run.
func (verdict Verdict) said(tool string) string {
	decision := verdict.Decision
	reason := decision.AgentMessage
	if reason == "" {
		reason = decision.Reason
	}
	next := advice[decision.NextAction]
	switch seconds := decision.RetryAfterSeconds; {
	case verdict.Approval != nil:
		reason, next = verdict.Approval.said(), advice["none"]
		if verdict.Approval.Status == "expired" {
			next = "Calling the tool again asks for a new approval."
		}
	case verdict.Waits:
		next = "Repeat the very same call once it is approved; do not look for another way to do it."
		if decision.Approval != nil {
			next = "Approval " + decision.Approval.ID + " waits for a person. " + next
		}
	case seconds != nil:
		next = fmt.Sprintf("Try again in %v seconds, not before.", *seconds)
	case decision.NextAction == "retry":
		next = "Try again later."
	}
	return strings.TrimRight(fmt.Sprintf("%q was not run. %s %s", tool, sentence(reason), next), " ")
}

func (approval Approval) said() string {
	if approval.Status != "denied" {
		return "the approval is " + approval.Status
	}
	said := "the approval was denied"
	if len(approval.Approvals) > 0 {
		last := approval.Approvals[len(approval.Approvals)-1]
		if last.By.Name != "" {
			said += fmt.Sprintf(" by %q", last.By.Name)
		}
		if last.Note != "" {
			said += ": " + last.Note
		}
	}
	return said
}

func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	begun := strings.ToUpper(string(first)) + text[size:]
	if strings.HasSuffix(begun, ".") || strings.HasSuffix(begun, "!") || strings.HasSuffix(begun, "?") {
		return begun
	}
	return begun + "."
}

func merged(call, own map[string]any) map[string]any {
	made := make(map[string]any, len(call)+len(own))
	for _, each := range []map[string]any{call, own} {
		for name, value := range each {
			made[name] = value
		}
	}
	return made
}
