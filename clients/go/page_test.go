package remit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const adminKey = "svc_5eed5eed5eed5eed5eed5eed5eed5eed"

// running is the address of a real Remit on a store of its own, which ends with the test.
func running(t *testing.T) string {
	command := os.Getenv("REMIT_COMMAND")
	if command == "" {
		command = "../../.venv/bin/remit"
	}
	if _, err := os.Stat(command); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no service is set up: ", err)
	}
	address := closedPort(t)
	output, err := os.Create(filepath.Join(t.TempDir(), "service.log"))
	if err != nil {
		t.Fatal(err)
	}
	service := exec.Command(command, "serve")
	service.Stdout, service.Stderr = output, output
	for _, each := range os.Environ() {
		if !strings.HasPrefix(each, "REMIT_") {
			service.Env = append(service.Env, each)
		}
	}
	service.Env = append(service.Env, "REMIT_DATA_DIR="+filepath.Join(t.TempDir(), "data"), "REMIT_BOOTSTRAP_KEY="+adminKey,
		"REMIT_PORT="+address[strings.LastIndex(address, ":")+1:], "REMIT_STORE_TIMEOUT_MS=5000")
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Wait() }()
	t.Cleanup(func() {
		service.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for until := time.Now().Add(time.Minute); time.Now().Before(until) && len(ended) == 0; time.Sleep(50 * time.Millisecond) {
		if answer, err := http.Get(address + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == 200 {
				return address
			}
		}
	}
	said, _ := os.ReadFile(output.Name())
	t.Fatalf("the service did not start: %s", said)
	return ""
}

// made is a field of what the service answers to a request to create something.
func made(t *testing.T, address, path, field string, body any) string {
	text, _ := json.Marshal(body)
	request, _ := http.NewRequest("POST", address+path, bytes.NewReader(text))
	request.Header.Set("Authorization", "Bearer "+adminKey)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	var got map[string]any
	if answer.StatusCode > 299 || json.Unmarshal(said, &got) != nil {
		t.Fatalf("%s: %s", path, said)
	}
	return fmt.Sprint(got[field])
}

func TestThePageDoesWhatItSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients/go.md")
	if err != nil {
		t.Fatal(err)
	}
	var program, prints string
	for _, block := range regexp.MustCompile("(?s)```(go|text)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if block[1] == "go" {
			program += block[2] + "\n"
		} else {
			prints += block[2]
		}
	}
	formatted := exec.Command("gofmt")
	formatted.Stdin = strings.NewReader(program)
	if said, err := formatted.Output(); err != nil || strings.TrimSpace(string(said)) != strings.TrimSpace(program) {
		t.Error("gofmt would write the page's program in another way:", err)
	}
	address := running(t)
	agent := made(t, address, "/v1/agents", "id", map[string]any{"name": "refund-bot", "alias": "refund-bot"})
	refunds, mails := []string{"refund.create"}, []string{"mail.send"}
	made(t, address, "/v1/policies", "id", map[string]any{"agent_id": agent, "name": "refunds and mail", "rules": []any{
		map[string]any{"type": "parameter_constraint", "tools": refunds, "parameters": map[string]any{"amount": map[string]any{"min": 0, "max": 500}}},
		map[string]any{"type": "approval_required", "tools": mails},
		map[string]any{"type": "parameter_constraint", "tools": mails, "parameters": map[string]any{"to": map[string]any{"required": true}}},
	}})
	key := made(t, address, "/v1/api-keys", "key", map[string]any{"name": "runtime", "scopes": []string{"authorize"}})

	folder, here := t.TempDir(), mustAbs(t, ".")
	module := "module program\n\ngo 1.19\n\nrequire remit.invalid/client v0.0.0\n\nreplace remit.invalid/client => " + here + "\n"
	for name, text := range map[string]string{"main.go": program, "go.mod": module} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := exec.Command("go", "run", ".")
	ran.Dir = folder
	ran.Env = append(os.Environ(), "REMIT_URL="+address, "REMIT_API_KEY="+key, "PERSON_KEY="+adminKey, "GOFLAGS=-mod=mod", "GOPROXY=off")
	said, err := ran.CombinedOutput()
	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	if got, want := ids.ReplaceAllString(string(said), "ID"), ids.ReplaceAllString(prints, "ID"); err != nil || got != want {
		t.Errorf("%v\n%s\nin place of\n%s", err, got, want)
	}
}

func mustAbs(t *testing.T, path string) string {
	made, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
