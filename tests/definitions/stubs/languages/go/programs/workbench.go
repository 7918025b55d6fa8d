package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"reflect"
)

// A program for tests: each line asks it to decode a value, to validate it and to encode it again, or to call a tool with it.

type question struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	IsCall bool   `json:"is_call"`
}

type answer struct {
	IsFine  bool   `json:"is_fine"`
	Value   string `json:"value"`
	Error   string `json:"error"`
	Invalid string `json:"invalid"`
}

var trips = map[string]func([]byte) answer{}

func trip[T any](data []byte) answer {
	var value T
	if err := read(data, &value); err != nil {
		return answer{Error: err.Error()}
	}
	made := answer{}
	of := reflect.ValueOf(value)
	isNil := of.Kind() == reflect.Pointer && of.IsNil() // a root that may be null
	if checked, ok := any(value).(interface{ Validate() error }); ok && !isNil {
		if err := checked.Validate(); err != nil {
			made.Invalid = err.Error()
		}
	}
	again, err := json.Marshal(value)
	if err != nil {
		return answer{Error: err.Error()}
	}
	made.IsFine, made.Value = true, string(again)
	return made
}

func (q question) answered() answer {
	if !q.IsCall {
		return trips[q.Name]([]byte(q.Value))
	}
	all, err := Tools(nil)
	if err != nil {
		panic(err)
	}
	for _, tool := range all {
		if tool.Name == q.Name {
			output, err := tool.Call(context.Background(), []byte(q.Value))
			if err != nil {
				return answer{Error: err.Error()}
			}
			return answer{IsFine: true, Value: string(output)}
		}
	}
	panic(q.Name)
}

// Answer answers the questions of standard input.
func Answer() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(asked.answered()); err != nil {
			panic(err)
		}
	}
}
