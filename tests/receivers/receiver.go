// Reads each line of its input as a service in Go would, and writes what it would run: the amount, or null.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

type call struct {
	Amount *float64 `json:"amount"`
}

func main() {
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var read call
		if json.Unmarshal(lines.Bytes(), &read) != nil {
			read.Amount = nil
		}
		out.Encode(read.Amount)
	}
}
