package support

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Calls of tools that an MCP server was asked for.

type mcpCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// start runs a call beside others.
func (s *mcpServer) start(ctx context.Context, message mcpMessage, to mcpAnswers, done func()) {
	var call mcpCall
	err := json.Unmarshal(message.Params, &call)
	tool, found := s.byName[call.Name]
	if err != nil || !found {
		defer done()
		problem := "Unknown tool: " + call.Name
		if err != nil {
			problem = "the parameters of tools/call are not as they must be"
		}
		refuse(to, message.ID, mcpInvalidParams, problem)
		return
	}
	if len(call.Arguments) == 0 || string(call.Arguments) == "null" {
		call.Arguments = json.RawMessage("{}")
	}
	ctx, cancel := context.WithCancel(s.withProgress(ctx, call.Meta.ProgressToken))
	key := string(message.ID)
	s.guard.Lock()
	s.cancels[key] = cancel
	s.guard.Unlock()
	go func() {
		defer done()
		defer cancel()
		result := called(ctx, tool, call.Arguments)
		s.guard.Lock()
		delete(s.cancels, key)
		s.guard.Unlock()
		// Who has cancelled a call does not wait for its answer.
		if ctx.Err() == nil {
			reply(to, message.ID, result)
		}
	}()
}

func (s *mcpServer) withProgress(ctx context.Context, token json.RawMessage) context.Context {
	if len(token) == 0 || string(token) == "null" {
		return ctx
	}
	return context.WithValue(ctx, progressKey{}, func(done, total float64, message string) {
		params := map[string]any{"progressToken": token, "progress": done}
		if total > 0 {
			params["total"] = total
		}
		if message != "" {
			params["message"] = message
		}
		s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
	})
}

// called runs a tool. A panic in it ends the call and not the server.
func called(ctx context.Context, tool Tool, input []byte) (result map[string]any) {
	defer func() {
		if problem := recover(); problem != nil {
			result = failed(fmt.Sprintf("the tool broke: %v", problem))
		}
	}()
	output, err := tool.Call(ctx, input)
	if err != nil {
		return failed(err.Error())
	}
	result = map[string]any{"content": contentOf(output), "isError": false}
	if bytes.HasPrefix(output, []byte("{")) {
		result["structuredContent"] = json.RawMessage(output)
	}
	return result
}

// contentOf gives an output as content: a text as it is, nothing for null, anything else as JSON.
func contentOf(output []byte) []map[string]string {
	text := string(output)
	switch {
	case text == "null":
		return []map[string]string{}
	case bytes.HasPrefix(output, []byte(`"`)):
		_ = json.Unmarshal(output, &text)
	}
	return textContent(text)
}

func failed(message string) map[string]any {
	return map[string]any{"content": textContent(message), "isError": true}
}

func textContent(text string) []map[string]string {
	return []map[string]string{{"type": "text", "text": text}}
}
