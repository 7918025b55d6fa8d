package support

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const longestEvent = 256 << 20

// serverEvent is one of a stream of events.
type serverEvent struct {
	kind string
	data string
}

// nextEvent reads one event; keep-alive comments are passed over. At the end of the stream it gives false.
func nextEvent(lines *bufio.Scanner) (serverEvent, bool) {
	var event serverEvent
	var data []string
	for lines.Scan() {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && len(data) > 0:
			event.data = strings.Join(data, "\n")
			return event, true
		case field == "event":
			event.kind = value
		case field == "data":
			data = append(data, value)
		}
	}
	return event, false
}

// follow reads the events of a call until it has ended.
func (e *exchange) follow(ctx context.Context, stream io.Reader) (*callResult, error) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), longestEvent)
	invocation := ""
	for {
		event, found := nextEvent(lines)
		if !found {
			return e.afterStream(ctx, invocation, lines.Err())
		}
		if event.kind == "progress" {
			e.told(event.data)
			continue
		}
		state := &callState{}
		if err := json.Unmarshal([]byte(event.data), state); err != nil {
			return nil, fmt.Errorf("Ferrule told something that is no JSON: %w", err)
		}
		invocation = state.InvocationID
		e.identify(invocation)
		if event.kind == "result" || event.kind == "waiting" && isWaiting(state.State) && !e.options.waits {
			return e.ended(ctx, state, 200)
		}
	}
}

// afterStream asks for a call whose stream was cut off.
func (e *exchange) afterStream(ctx context.Context, invocation string, err error) (*callResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if invocation == "" {
		return nil, fmt.Errorf("the answer of Ferrule ended early: %v", err)
	}
	return e.poll(ctx, invocation)
}

func (e *exchange) told(data string) {
	var progress Progress
	if e.options.progress != nil && json.Unmarshal([]byte(data), &progress) == nil {
		e.options.progress(progress)
	}
}
