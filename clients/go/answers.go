package remit

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Decision is one decision; ID is its entry in the audit log. Only Allowed permits the call.
type Decision struct {
	ID      string `json:"id"`
	Allowed bool   `json:"-"`
	// allowed, denied or escalated; unavailable only if RunsUndecided let a call through without a decision.
	Result            string          `json:"result"`
	Reason            string          `json:"reason"`
	Code              string          `json:"code"`
	PolicyID          string          `json:"policyId"`
	Rule              json.RawMessage `json:"rule"`
	AgentMessage      string          `json:"agentMessage"`
	NextAction        string          `json:"nextAction"`
	RetryAfterSeconds *float64        `json:"retryAfterSeconds"`
	Approval          *ApprovalRef    `json:"approval"`
}

// ApprovalRef is the approval that a decision waits for, or that made it allowed.
type ApprovalRef struct {
	ID        string     `json:"id"`
	Status    string     `json:"status"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// Approval is a call that a person was asked about: pending, approved, denied, expired, cancelled or consumed.
type Approval struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Approvals []ApprovalGiven `json:"approvals"`
}

// ApprovalGiven is what one person has decided.
type ApprovalGiven struct {
	By struct {
		Name string `json:"name"`
	} `json:"by"`
	Note string `json:"note"`
}

// interpret reads the answer, or says why there is no result in it.
func interpret(asked string, answer *http.Response, text []byte, read func([]byte) error) error {
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return failure(asked, answer, text)
	}
	err := requireJSON(answer, text)
	if err == nil {
		err = read(text)
	}
	if err != nil {
		return errorOf(ErrMalformedAnswer, "%s answered %d with something that Remit would not send (%v). Check that REMIT_URL "+
			"is Remit's address and that no proxy answers in its place.", asked, answer.StatusCode, err)
	}
	return nil
}

func requireJSON(answer *http.Response, text []byte) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case !utf8.Valid(text):
		return errors.New("it is not UTF-8")
	case len(text) > 0 && kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		return errors.New("its Content-Type is not JSON")
	}
	return nil
}

// readDecision is the decision in an answer, if it is unambiguous.
func readDecision(answer []byte) (Decision, error) {
	got, err := object(answer)
	if err != nil {
		return Decision{}, err
	}
	result, _ := got["result"].(string)
	allowed, isBool := got["allowed"].(bool)
	if !isBool || allowed != (result == "allowed") || (!allowed && result != "denied" && result != "escalated") {
		return Decision{}, fmt.Errorf("result %.50v and allowed %.50v are not a decision", got["result"], got["allowed"])
	}
	if err := requireTexts(got, "id", "reason"); err != nil {
		return Decision{}, err
	}
	if approval, isObject := got["approval"].(map[string]any); isObject {
		if err := requireTexts(approval, "id"); err != nil {
			return Decision{}, err
		}
	}
	var decision Decision
	if err := json.Unmarshal(answer, &decision); err != nil {
		return Decision{}, err
	}
	// encoding/json takes names in any letter case; what matters is what the exact names say.
	decision.ID, decision.Result, decision.Allowed = got["id"].(string), result, allowed
	return decision, nil
}

func readApproval(answer []byte, id string) (Approval, error) {
	got, err := object(answer)
	if err != nil {
		return Approval{}, err
	}
	if err := requireTexts(got, "id", "status"); err != nil {
		return Approval{}, err
	}
	if !strings.EqualFold(got["id"].(string), id) {
		return Approval{}, errors.New("it is another approval's")
	}
	var approval Approval
	if err := json.Unmarshal(answer, &approval); err != nil {
		return Approval{}, err
	}
	approval.ID, approval.Status = got["id"].(string), got["status"].(string)
	return approval, nil
}

// failure says what an answer with another status than 2xx means.
func failure(asked string, answer *http.Response, text []byte) error {
	status := answer.StatusCode
	if status < 400 {
		return errorOf(ErrMalformedAnswer, "%s answered with a redirect (%d), which is not followed: set REMIT_URL to the "+
			"final address.", asked, status)
	}
	code, message := problem(text)
	made := &Error{Kind: ErrRefused, Status: status, Code: code}
	switch {
	case status == 429:
		made.Kind = ErrThrottled
		made.Message = fmt.Sprintf("Remit refuses further requests with this key for now: %s.", message)
		if seconds, err := strconv.ParseFloat(answer.Header.Get("Retry-After"), 64); err == nil && seconds >= 0 {
			made.RetryAfter = time.Duration(seconds * float64(time.Second))
			made.Message += fmt.Sprintf(" Try again in %v s.", seconds)
		}
	case status >= 500:
		// The answers that the agent cannot cause, whatever it calls and however often.
		made.Kind = ErrNotAnOutage
		if status == 502 || status == 504 || (status == 503 && code == "STORE_UNAVAILABLE") {
			made.Kind = ErrUnavailable
		}
		made.Message = fmt.Sprintf("%s answered %d %s: %s. There is no decision; try again later.", asked, status, code, message)
	case status == 401:
		made.Message = fmt.Sprintf("Remit does not accept the API key (%s): %s. Set REMIT_API_KEY to a valid key.", code, message)
	default:
		made.Message = fmt.Sprintf("%s was refused with %d %s: %s", asked, status, code, message)
	}
	return made
}

// problem is code and message of an error's body; placeholders for a page that some proxy sent.
func problem(text []byte) (code, message string) {
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(text, &body); err != nil || body.Error.Code == "" || body.Error.Message == "" {
		return "UNKNOWN", "no explanation was given"
	}
	return body.Error.Code, strings.TrimRight(body.Error.Message, ".")
}

func object(answer []byte) (map[string]any, error) {
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	made, isObject := got.(map[string]any)
	if !isObject {
		return nil, errors.New("not a JSON object")
	}
	return made, nil
}

func requireTexts(got map[string]any, names ...string) error {
	for _, name := range names {
		if _, isText := got[name].(string); !isText {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}
