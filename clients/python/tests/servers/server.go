// An MCP server in Go, over stdio: it reads messages with encoding/json, into structs, as its servers do.
//
// It tells the client of each call that it runs: [tool, amount, arguments]. It answers other requests with their params.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type payment struct {
	Amount *float64 `json:"amount"`
}

type fields map[string]any

func main() {
	lines, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	say := func(said fields) {
		said["jsonrpc"] = "2.0"
		out.Encode(said)
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var got message
		if json.Unmarshal(line, &got) != nil {
			say(fields{"id": nil, "error": fields{"code": -32700, "message": "not a message"}})
			continue
		}
		if got.Method != "tools/call" {
			say(fields{"id": got.ID, "result": fields{"params": got.Params}})
			continue
		}
		var asked call
		var paid payment
		var all any
		if json.Unmarshal(got.Params, &asked) != nil || json.Unmarshal(asked.Arguments, &paid) != nil ||
			json.Unmarshal(asked.Arguments, &all) != nil {
			say(fields{"id": got.ID, "error": fields{"code": -32602, "message": "not a call"}})
			continue
		}
		say(fields{"method": "notifications/ran", "params": fields{"ran": []any{asked.Name, paid.Amount, all}}})
		say(fields{"id": got.ID, "result": fields{"content": []any{}}})
	}
}
