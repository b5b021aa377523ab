// Opens notes and checks proofs with golang.org/x/mod/sumdb, which shares no code with the service.
//
// One JSON object per line on standard input; the answer is "ok", or what is wrong, on a line.
package main

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Kind, Note, Vkey, Line, OldRoot string
	Index, Old                      int64
	Proof                           []string
}

func hashOf(text string) (hash tlog.Hash) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != len(hash) {
		panic("not a hash: " + text)
	}
	copy(hash[:], raw)
	return hash
}

func hashes(texts []string) (all []tlog.Hash) {
	for _, each := range texts {
		all = append(all, hashOf(each))
	}
	return all
}

func tree(text string) (int64, tlog.Hash) {
	lines := strings.Split(text, "\n")
	var size int64
	fmt.Sscan(lines[1], &size)
	return size, hashOf(lines[2])
}

// cosigned checks a tlog-cosignature of type 4 as its specification has it: the note package does not know it.
func cosigned(text, signed, vkey string) error {
	parts := strings.SplitN(vkey, "+", 3)
	key, _ := base64.StdEncoding.DecodeString(parts[2])
	for _, line := range strings.Split(signed, "\n") {
		if !strings.HasPrefix(line, "— "+parts[0]+" ") {
			continue
		}
		raw, _ := base64.StdEncoding.DecodeString(line[strings.LastIndex(line, " ")+1:])
		if fmt.Sprintf("%x", raw[:4]) != parts[1] {
			continue
		}
		message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(raw[4:12]), text)
		if ed25519.Verify(key[1:], []byte(message), raw[12:]) {
			return nil
		}
	}
	return fmt.Errorf("no valid cosignature")
}

func judge(asked question) error {
	if asked.Kind == "cosignature" {
		text, signed, _ := strings.Cut(asked.Note, "\n\n")
		return cosigned(text+"\n", signed, asked.Vkey)
	}
	verifier, err := note.NewVerifier(asked.Vkey)
	if err != nil {
		return err
	}
	opened, err := note.Open([]byte(asked.Note), note.VerifierList(verifier))
	if err != nil {
		return err
	}
	size, root := tree(opened.Text)
	switch asked.Kind {
	case "inclusion":
		return tlog.CheckRecord(hashes(asked.Proof), size, root, asked.Index, tlog.RecordHash([]byte(asked.Line)))
	case "consistency":
		return tlog.CheckTree(hashes(asked.Proof), size, root, asked.Old, hashOf(asked.OldRoot))
	}
	return nil
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := judge(asked); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
}
