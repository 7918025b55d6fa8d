package support

import (
	"context"
	"encoding/json"
	"fmt"
)

// Definition is what a caller is told of a tool.
type Definition struct {
	Name        string
	Title       string
	Description string
	Version     string
	Tags        []string
	InputSchema json.RawMessage
	// OutputSchema is empty where the tool says nothing of its result.
	OutputSchema json.RawMessage
}

// Tool is a tool that is called with JSON.
type Tool interface {
	// Definition gives what a caller is told.
	Definition() Definition
	// Call checks the input, runs the tool, and checks what it gives back.
	Call(ctx context.Context, input []byte) ([]byte, error)
}

// Handler is the work of a tool, with its own types.
type Handler[I, O any] func(ctx context.Context, input I) (O, error)

type basicTool[I, O any] struct {
	definition Definition
	handle     Handler[I, O]
	decode     func([]byte) (I, error)
	encode     func(O) ([]byte, error)
	output     *schemaDocument
}

func (t *basicTool[I, O]) Definition() Definition {
	return t.definition
}

func (t *basicTool[I, O]) Call(ctx context.Context, data []byte) ([]byte, error) {
	input, err := t.decode(data)
	if err != nil {
		return nil, fmt.Errorf("the input of %s does not fit: %w", t.definition.Name, err)
	}
	output, err := t.handle(ctx, input)
	if err != nil {
		return nil, err
	}
	made, err := t.encode(output)
	if err == nil {
		err = checkOutput(t.output, made)
	}
	if err != nil {
		return nil, fmt.Errorf("the output of %s does not fit: %w", t.definition.Name, err)
	}
	return made, nil
}

func checkOutput(schema *schemaDocument, data []byte) error {
	if schema == nil {
		return nil
	}
	value, err := parseJSON(data)
	if err != nil {
		return err
	}
	return schema.check("#", value)
}

// NotImplemented is what a tool says while nobody has written it.
type NotImplemented struct {
	Name string
}

func (e *NotImplemented) Error() string {
	return "the tool " + e.Name + " is not implemented yet"
}

type progressKey struct{}

// ReportProgress tells the caller of a tool how far it is, where the caller wants to know. A total of 0 is an unknown one.
func ReportProgress(ctx context.Context, done, total float64, message string) {
	if report, ok := ctx.Value(progressKey{}).(func(done, total float64, message string)); ok {
		report(done, total, message)
	}
}
