// Reads each line of its input as a service in Go would, and writes the calls that it would run: [tool, amount].
//
// A line is the way in, a tab, and the body of the request; other ways in than those below are a call's parameters.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
)

type parameters struct {
	Amount *float64 `json:"amount"`
}

type call struct {
	Tool       string     `json:"tool_name"`
	Parameters parameters `json:"parameters"`
}

type evaluation struct {
	Action struct {
		Name string `json:"name"`
	} `json:"action"`
	Resource struct {
		Type       string     `json:"type"`
		Properties parameters `json:"properties"`
	} `json:"resource"`
}

func (each evaluation) ran() []any {
	return []any{each.Resource.Type + "." + each.Action.Name, each.Resource.Properties.Amount}
}

func read(way string, body []byte) [][]any {
	ran := [][]any{}
	switch way {
	case "authorize":
		var given call
		if json.Unmarshal(body, &given) == nil {
			ran = append(ran, []any{given.Tool, given.Parameters.Amount})
		}
	case "batch":
		var given struct {
			Calls []call `json:"calls"`
		}
		if json.Unmarshal(body, &given) == nil {
			for _, each := range given.Calls {
				ran = append(ran, []any{each.Tool, each.Parameters.Amount})
			}
		}
	case "hook":
		var given struct {
			Tool  string     `json:"tool_name"`
			Input parameters `json:"tool_input"`
		}
		if json.Unmarshal(body, &given) == nil {
			ran = append(ran, []any{given.Tool, given.Input.Amount})
		}
	case "evaluation":
		var given evaluation
		if json.Unmarshal(body, &given) == nil {
			ran = append(ran, given.ran())
		}
	case "evaluations":
		var given struct {
			Evaluations []evaluation `json:"evaluations"`
		}
		if json.Unmarshal(body, &given) == nil {
			for _, each := range given.Evaluations {
				ran = append(ran, each.ran())
			}
		}
	}
	return ran
}

func main() {
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		way, body, _ := strings.Cut(lines.Text(), "\t")
		out.Encode(read(way, []byte(body)))
	}
}
