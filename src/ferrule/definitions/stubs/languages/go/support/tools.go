package support

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Tool is a tool that is called with JSON, and answers with JSON.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`

	Call func(ctx context.Context, input []byte) (output []byte, err error) `json:"-"`
}

// ErrNotImplemented is what a tool answers until somebody has written it.
var ErrNotImplemented = errors.New("this tool is not implemented yet")

// calling makes the Call of a Tool out of a handler, which has types of its own.
func calling[I, O any](handle func(context.Context, I) (O, error)) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, data []byte) ([]byte, error) {
		var input I
		if err := read(data, &input); err != nil {
			return nil, fmt.Errorf("the input does not fit: %w", err)
		}
		output, err := handle(ctx, input)
		if err != nil {
			return nil, err
		}
		return json.Marshal(output)
	}
}

type progressKey struct{}

// ReportProgress tells the caller of a tool how far it is; a total of 0 is an unknown one.
func ReportProgress(ctx context.Context, done, total float64, message string) {
	if report, ok := ctx.Value(progressKey{}).(func(done, total float64, message string)); ok {
		report(done, total, message)
	}
}
