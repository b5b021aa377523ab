package remit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// frozen is the JSON of a call's parameters, which nothing else can change, and which no parser can read as another.
func frozen(parameters any) (json.RawMessage, error) {
	if parameters == nil {
		return json.RawMessage("{}"), nil
	}
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(parameters)
	if err == nil {
		_, isText := parameters.(json.RawMessage)
		err = requireUnambiguous(made.Bytes(), isText)
	}
	if err != nil {
		return nil, errorOf(ErrNotJSON, "The parameters of a call must be a JSON object that can be read in one way: %v.", err)
	}
	return json.RawMessage(bytes.TrimSpace(made.Bytes())), nil
}

// requireUnambiguous is nil for an object without two names that are equal or that some parsers take for one, without NUL
// in a name, and without numbers too large for a double. encoding/json itself takes the last of two such names. asDoubles:
// nor whole numbers that no double equals, because a program that reads them without a type of its own gets another one.
func requireUnambiguous(text []byte, asDoubles bool) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	first, err := decoder.Token()
	if err != nil {
		return err
	}
	if first != json.Delim('{') {
		return errors.New("it is no object")
	}
	if err := readValue(decoder, first, asDoubles); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("something follows it")
	}
	return nil
}

func readValue(decoder *json.Decoder, token json.Token, asDoubles bool) error {
	switch value := token.(type) {
	case json.Number:
		double, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return errors.New("a number is too large")
		}
		whole, isWhole := new(big.Int).SetString(string(value), 10)
		if read, _ := big.NewFloat(double).Int(nil); asDoubles && isWhole && whole.Cmp(read) != 0 {
			return errors.New("a whole number has more digits than a double keeps; pass it as a text")
		}
	case json.Delim:
		names := map[string]bool{}
		for decoder.More() {
			each, err := decoder.Token()
			if err != nil {
				return err
			}
			if value == '{' {
				name := folded(each.(string))
				if names[name] || strings.Contains(name, "\x00") {
					return errors.New("an object has two members whose names some programs take for one, or a NUL in a name")
				}
				names[name] = true
				if each, err = decoder.Token(); err != nil {
					return err
				}
			}
			if err := readValue(decoder, each, asDoubles); err != nil {
				return err
			}
		}
		_, err := decoder.Token()
		return err
	}
	return nil
}

// folded is the same for all names that differ only in letter case, in letters that some programs fold to ASCII, or in
// width.
func folded(name string) string {
	return strings.Map(func(letter rune) rune {
		switch {
		case letter >= 0xFF01 && letter <= 0xFF5E:
			letter -= 0xFEE0
		case letter == 'ı' || letter == 'İ':
			letter = 'i'
		}
		least := letter
		for each := unicode.SimpleFold(letter); each != letter; each = unicode.SimpleFold(each) {
			if each < least {
				least = each
			}
		}
		return least
	}, name)
}
