package remit

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testKey = "svc_00000000000000000000000000000000"
	hurry   = 600 * time.Millisecond
	patient = 20 * time.Second
)

// given is an answer as clients/cases.json describes it.
type given struct {
	Bytes, Raw, Type, Decision, Problem string
	More                                []any
	Status, Cut                         int
	Headers                             []string
	With                                map[string]any
	Body                                any
	HangsUp, Resets, Drips              bool
}

type testCase struct {
	Name, Fault, Raised, Says string
	Hurry                     bool
	Answer                    json.RawMessage
}

type sharedCases struct {
	Decisions map[string]map[string]any
	Cases     []testCase
	Spellings map[string]struct{ Same, Other []string }
	Ambiguous []string
}

var shared = readShared()

func readShared() (made sharedCases) {
	text, err := os.ReadFile("../cases.json")
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		panic(err)
	}
	for place, one := range made.Cases {
		if one.Name == "no name of a header" { // which Go 1.19 skips; the body is no decision
			made.Cases[place].Raised, made.Cases[place].Says = "MalformedAnswer", "not a decision"
		}
	}
	return made
}

type said struct {
	bytes                  []byte
	hangsUp, resets, drips bool
}

// latin1 is the bytes of a text of cases.json.
func latin1(text string) []byte {
	made := make([]byte, 0, len(text))
	for _, letter := range text {
		made = append(made, byte(letter))
	}
	return made
}

// sayOf is the HTTP answer that the text of a case describes; nil for null.
func sayOf(text string) *said {
	if text == "null" {
		return nil
	}
	var one given
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &one) != nil || json.Unmarshal([]byte(text), &fields) != nil {
		panic(text)
	}
	var more []byte
	if len(one.More) == 2 {
		more = bytes.Repeat(latin1(one.More[0].(string)), int(one.More[1].(float64)))
	}
	_, isWhole := fields["bytes"]
	_, isRaw := fields["raw"]
	made := append(latin1(one.Bytes), more...)
	if !isWhole {
		var body any = one.Body
		if one.Decision != "" {
			decision := merged(shared.Decisions[one.Decision], one.With)
			body = decision
		}
		if one.Problem != "" {
			body = map[string]any{"error": map[string]any{"code": one.Problem, "message": "This is " + one.Problem, "details": []any{}}}
		}
		content, _ := json.Marshal(body)
		if isRaw {
			content = append(latin1(one.Raw), more...)
		}
		if one.Status == 0 {
			one.Status = 200
		}
		if one.Type == "" {
			one.Type = "application/json"
		}
		lines := append([]string{fmt.Sprintf("HTTP/1.1 %d X", one.Status), fmt.Sprintf("Content-Length: %d", len(content)),
			"Content-Type: " + one.Type}, one.Headers...)
		made = append([]byte(strings.Join(lines, "\r\n")+"\r\n\r\n"), content...)
	}
	made = made[:len(made)-one.Cut]
	hangsUp := one.HangsUp || !bytes.Contains(made, []byte("Content-Length"))
	return &said{made, hangsUp, one.Resets, one.Drips}
}

var (
	yes       = sayOf(`{"decision": "allowed"}`)
	no        = sayOf(`{"decision": "denied"}`)
	escalated = sayOf(`{"decision": "escalated", "with": {"approval": {"id": "a1", "status": "pending"}}}`)
)

// faulty answers each request with the next of its answers, and repeats the last one; nil = no answer.
type faulty struct {
	url     string
	mutex   sync.Mutex
	answers []*said
	asked   []string
}

func serve(t *testing.T, certificate *tls.Certificate, greets string, answers ...*said) *faulty {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http"
	if certificate != nil {
		scheme, listener = "https", tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*certificate}})
	}
	server := &faulty{url: scheme + "://" + listener.Addr().String(), answers: answers}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			go server.converse(connection, greets)
		}
	}()
	return server
}

var (
	length    = regexp.MustCompile(`(?i)content-length: (\d+)`)
	requestID = regexp.MustCompile(`(?i)x-request-id: (.*)\r\n`)
	nameIn    = regexp.MustCompile(`(?i)idempotency-key: (.*)\r\n`)
)

func (server *faulty) converse(connection net.Conn, greets string) {
	defer connection.Close()
	if greets != "" {
		io.WriteString(connection, greets)
		return
	}
	var got []byte
	chunk := make([]byte, 65536)
	for {
		size, err := connection.Read(chunk)
		got = append(got, chunk[:size]...)
		head := bytes.Index(got, []byte("\r\n\r\n"))
		whole := head + 4
		if found := length.FindSubmatch(got); head >= 0 && found != nil {
			var more int
			fmt.Sscan(string(found[1]), &more)
			whole += more
		}
		if head >= 0 && len(got) >= whole {
			if !server.answer(connection, string(got)) {
				return
			}
			got = nil
		}
		if err != nil {
			return
		}
	}
}

// answer is false once the connection has ended.
func (server *faulty) answer(connection net.Conn, asked string) bool {
	server.mutex.Lock()
	server.asked = append(server.asked, asked)
	next := server.answers[0]
	if len(server.answers) > 1 {
		server.answers = server.answers[1:]
	}
	server.mutex.Unlock()
	if next == nil {
		return true
	}
	id := requestID.FindStringSubmatch(asked)[1]
	text := bytes.ReplaceAll(next.bytes, []byte("{id}"), []byte(id))
	if next.drips {
		for _, each := range text {
			if _, err := connection.Write([]byte{each}); err != nil {
				return false
			}
			time.Sleep(20 * time.Millisecond)
		}
	} else {
		connection.Write(text)
	}
	if next.resets {
		connection.(*net.TCPConn).SetLinger(0)
	}
	return !next.resets && !next.hangsUp
}

func (server *faulty) names() []string {
	server.mutex.Lock()
	defer server.mutex.Unlock()
	made := []string{}
	for _, each := range server.asked {
		name := ""
		if found := nameIn.FindStringSubmatch(each); found != nil {
			name = found[1]
		}
		made = append(made, name)
	}
	return made
}

// certificate is for a host, and is its own authority.
func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	if address := net.ParseIP(host); address != nil {
		template.IPAddresses = []net.IP{address}
	} else {
		template.DNSNames = []string{host}
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(encoded)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}, pool
}

// at is a client of a service with the fault of a case, and that service if it could be asked.
func at(t *testing.T, one testCase) (*Client, *faulty) {
	transport := Transport()
	transport.Proxy = nil
	server := &faulty{}
	switch one.Fault {
	case "":
		server = serve(t, nil, "", sayOf(string(one.Answer)))
	case "closed port":
		server.url = closedPort(t)
	case "no such host":
		server.url = "http://remit.invalid:8080"
	case "plain text where TLS is wanted":
		server = serve(t, nil, "HTTP/1.1 400 Bad Request\r\n\r\n", nil)
		server.url = strings.Replace(server.url, "http", "https", 1)
	case "its own authority":
		made, _ := certificate(t, "127.0.0.1")
		server = serve(t, &made, "", yes)
	case "another host's certificate":
		made, pool := certificate(t, "remit.example")
		server = serve(t, &made, "", yes)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	case "refusing proxy":
		proxy, _ := url.Parse(closedPort(t))
		transport.Proxy = http.ProxyURL(proxy)
		server = serve(t, nil, "", yes)
	default:
		t.Fatalf("no such fault: %s", one.Fault)
	}
	limit := patient
	if one.Hurry {
		limit = hurry
	}
	return clientOf(t, server.url, limit, transport), server
}

func closedPort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

func clientOf(t *testing.T, address string, limit time.Duration, transport http.RoundTripper) *Client {
	made, err := New(Options{URL: address, Key: testKey, Timeout: limit, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
