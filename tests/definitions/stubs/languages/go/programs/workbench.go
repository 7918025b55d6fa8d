package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
)

// A program for tests: each line asks it to check a value by a schema, or to decode a value and to encode it again.

type question struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Value  string `json:"value"`
	IsCall bool   `json:"is_call"`
}

type answer struct {
	IsFine bool   `json:"is_fine"`
	Value  string `json:"value"`
	Error  string `json:"error"`
}

var trips = map[string]func([]byte) ([]byte, error){"a pair": trip(unmarshalled[ListsInputPair], marshalled[ListsInputPair])}

func unmarshalled[T any](data []byte) (value T, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}

func marshalled[T any](value T) ([]byte, error) {
	return json.Marshal(value)
}

func trip[T any](decode func([]byte) (T, error), encode func(T) ([]byte, error)) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		value, err := decode(data)
		if err != nil {
			return nil, err
		}
		return encode(value)
	}
}

func (q question) called() ([]byte, error) {
	all, err := Tools(nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range all {
		if tool.Definition().Name == q.Name {
			return tool.Call(context.Background(), []byte(q.Value))
		}
	}
	panic(q.Name)
}

func (q question) answered() ([]byte, error) {
	if q.IsCall {
		return q.called()
	}
	if q.Name != "" {
		return trips[q.Name]([]byte(q.Value))
	}
	value, err := parseJSON([]byte(q.Value))
	if err != nil {
		return nil, err
	}
	return nil, newSchema(q.Schema).check("#", value)
}

// Answer answers the questions of standard input.
func Answer() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		value, err := asked.answered()
		told := answer{IsFine: err == nil, Value: string(value)}
		if err != nil {
			told.Error = err.Error()
		}
		data, _ := json.Marshal(told)
		_, _ = out.Write(append(data, '\n'))
	}
}
