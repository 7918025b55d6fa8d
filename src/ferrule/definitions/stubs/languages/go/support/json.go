package support

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON values are nil, bool, string, json.Number, []any and map[string]any. So no number is rounded before it is known what
// it is for, and names of members are always compared as they are written.

// longestExponent bounds numbers, so that one short number cannot fill the memory.
const longestExponent = 400

// InvalidJSON is a text that is no JSON, or a value that does not fit its schema or its type.
type InvalidJSON struct {
	// Place is a JSON pointer into the value: /items/0/name. It is empty for the whole value.
	Place string
	// Problem says what is wrong there.
	Problem string
	// isOfKind is set where the whole value is of another type than what it was read as.
	isOfKind bool
}

func (e *InvalidJSON) Error() string {
	if e.Place == "" {
		return e.Problem
	}
	return e.Place + ": " + e.Problem
}

func invalid(format string, values ...any) error {
	return &InvalidJSON{Problem: fmt.Sprintf(format, values...)}
}

// within says in which member or item a problem is.
func within(err error, name string) error {
	var known *InvalidJSON
	if !errors.As(err, &known) {
		return err
	}
	return &InvalidJSON{Place: "/" + pointerEscaped(name) + known.Place, Problem: known.Problem}
}

func pointerEscaped(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// parseJSON reads one JSON value and nothing after it.
func parseJSON(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, invalid("the text is not UTF-8")
	}
	if hasLoneSurrogate(data) {
		return nil, invalid("the text has half of a character")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, invalid("the text is not JSON: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, invalid("the text is not JSON: something follows the value")
	}
	return value, checkNumbers(value)
}

// hasLoneSurrogate finds an escape like \ud800 without its other half, which encoding/json would replace.
func hasLoneSurrogate(data []byte) bool {
	for at := 0; at < len(data); at++ {
		if data[at] != '\\' {
			continue
		}
		at++
		switch half := surrogate(data, at); half {
		case 'h':
			if at+5 >= len(data) || data[at+5] != '\\' || surrogate(data, at+6) != 'l' {
				return true
			}
			at += 10
		case 'l':
			return true
		}
	}
	return false
}

// surrogate tells a high half (h), a low half (l) and anything else (0) after a backslash.
func surrogate(data []byte, at int) byte {
	if at+5 > len(data) || data[at] != 'u' {
		return 0
	}
	number, err := strconv.ParseUint(string(data[at+1:at+5]), 16, 32)
	switch {
	case err != nil || number < 0xd800 || number > 0xdfff:
		return 0
	case number < 0xdc00:
		return 'h'
	}
	return 'l'
}

func checkNumbers(value any) error {
	switch value := value.(type) {
	case json.Number:
		return checkNumber(value)
	case []any:
		for place, item := range value {
			if err := checkNumbers(item); err != nil {
				return within(err, strconv.Itoa(place))
			}
		}
	case map[string]any:
		for name, item := range value {
			if err := checkNumbers(item); err != nil {
				return within(err, name)
			}
		}
	}
	return nil
}

func checkNumber(number json.Number) error {
	_, exponent, found := strings.Cut(strings.ToLower(string(number)), "e")
	if !found {
		return nil
	}
	size, err := strconv.Atoi(exponent)
	if err != nil || size > longestExponent || size < -longestExponent {
		return invalid("the number %s is too large or too small", number)
	}
	return nil
}

func isDigits(text string) bool {
	for at := 0; at < len(text); at++ {
		if text[at] < '0' || text[at] > '9' {
			return false
		}
	}
	return text != ""
}

// exactly gives a number without rounding.
func exactly(number json.Number) *big.Rat {
	made, ok := new(big.Rat).SetString(string(number))
	if !ok {
		return new(big.Rat)
	}
	return made
}

// asInteger gives the whole number that a number is: 2, 2.0 and 2e0 are the same.
func asInteger(number json.Number) (*big.Int, bool) {
	if isDigits(strings.TrimPrefix(string(number), "-")) {
		return new(big.Int).SetString(string(number), 10)
	}
	made := exactly(number)
	return made.Num(), made.IsInt()
}

func isInteger(number json.Number) bool {
	if isDigits(strings.TrimPrefix(string(number), "-")) {
		return true
	}
	return exactly(number).IsInt()
}

// sameKey gives a text that two values share when they are equal: 1 and 1.0 are, and the order of members does not matter.
func sameKey(value any) string {
	var out strings.Builder
	writeKey(&out, value)
	return out.String()
}

func writeKey(out *strings.Builder, value any) {
	switch value := value.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		out.WriteString(strconv.FormatBool(value))
	case string:
		out.WriteString(strconv.Quote(value))
	case json.Number:
		out.WriteString(exactly(value).RatString())
	case []any:
		out.WriteString("[")
		for _, item := range value {
			writeKey(out, item)
			out.WriteString(",")
		}
		out.WriteString("]")
	case map[string]any:
		out.WriteString("{")
		for _, name := range sortedNames(value) {
			out.WriteString(strconv.Quote(name) + ":")
			writeKey(out, value[name])
			out.WriteString(",")
		}
		out.WriteString("}")
	}
}

func sortedNames[T any](members map[string]T) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
