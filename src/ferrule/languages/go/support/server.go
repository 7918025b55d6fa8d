package support

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// A server of the Model Context Protocol over two streams: a JSON-RPC message on each line.

// mcpRevisions are those that it speaks, the newest first.
var mcpRevisions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}

const (
	mcpParseError     = -32700
	mcpInvalidRequest = -32600
	mcpUnknownMethod  = -32601
	mcpInvalidParams  = -32602
	mcpLongestLine    = 64 << 20
	mcpPatience       = 10 * time.Second
)

type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type mcpProblem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type mcpServer struct {
	name, version string
	tools         []Tool
	byName        map[string]Tool
	out           io.Writer
	writing       sync.Mutex
	running       sync.WaitGroup
	guard         sync.Mutex
	cancels       map[string]context.CancelFunc
}

// Serve answers calls until the input ends. Calls run side by side.
func Serve(ctx context.Context, name, version string, tools []Tool, in io.Reader, out io.Writer) error {
	server := &mcpServer{name: name, version: version, tools: tools, out: out}
	server.byName = make(map[string]Tool, len(tools))
	server.cancels = map[string]context.CancelFunc{}
	for _, tool := range tools {
		server.byName[tool.Definition().Name] = tool
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), mcpLongestLine)
	for ctx.Err() == nil && lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			server.receive(ctx, bytes.Clone(line))
		}
	}
	server.finish(cancel)
	return lines.Err()
}

// finish gives running calls a while to end, then cancels them.
func (s *mcpServer) finish(cancel context.CancelFunc) {
	patience := time.AfterFunc(mcpPatience, cancel)
	defer patience.Stop()
	s.running.Wait()
}

func (s *mcpServer) receive(ctx context.Context, line []byte) {
	var message mcpMessage
	switch err := json.Unmarshal(line, &message); {
	case err != nil && !json.Valid(line):
		s.refuse(json.RawMessage("null"), mcpParseError, "the line is not JSON")
	case err != nil:
		s.refuse(json.RawMessage("null"), mcpInvalidRequest, "the line is no JSON-RPC message")
	case message.Method == "notifications/cancelled":
		s.cancelled(message.Params)
	case message.Method == "tools/call" && message.ID != nil:
		s.start(ctx, message)
	case message.Method != "" && message.ID != nil:
		s.answer(message)
	}
}

func (s *mcpServer) answer(message mcpMessage) {
	switch message.Method {
	case "initialize":
		s.reply(message.ID, s.initialized(message.Params))
	case "ping":
		s.reply(message.ID, struct{}{})
	case "tools/list":
		s.reply(message.ID, map[string]any{"tools": s.listed()})
	default:
		s.refuse(message.ID, mcpUnknownMethod, "there is no method "+message.Method)
	}
}

func (s *mcpServer) initialized(params json.RawMessage) any {
	var wanted struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &wanted)
	revision := mcpRevisions[0]
	for _, each := range mcpRevisions {
		if each == wanted.ProtocolVersion {
			revision = each
		}
	}
	return map[string]any{
		"protocolVersion": revision,
		"capabilities":    map[string]any{"tools": struct{}{}},
		"serverInfo":      map[string]any{"name": s.name, "version": s.version},
	}
}

type mcpTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

func (s *mcpServer) listed() []mcpTool {
	listed := make([]mcpTool, 0, len(s.tools))
	for _, tool := range s.tools {
		told := tool.Definition()
		each := mcpTool{Name: told.Name, Title: told.Title, Description: told.Description, InputSchema: told.InputSchema}
		// A client expects an object as structured content, so nothing is said of other results.
		if isObjectSchema(told.OutputSchema) {
			each.OutputSchema = told.OutputSchema
		}
		listed = append(listed, each)
	}
	return listed
}

func isObjectSchema(schema json.RawMessage) bool {
	var told struct {
		Type any `json:"type"`
	}
	return len(schema) > 0 && json.Unmarshal(schema, &told) == nil && told.Type == "object"
}

type mcpCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

func (s *mcpServer) start(ctx context.Context, message mcpMessage) {
	var call mcpCall
	if err := json.Unmarshal(message.Params, &call); err != nil {
		s.refuse(message.ID, mcpInvalidParams, "the parameters of tools/call are not as they must be")
		return
	}
	tool, found := s.byName[call.Name]
	if !found {
		s.refuse(message.ID, mcpInvalidParams, "Unknown tool: "+call.Name)
		return
	}
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}")
	}
	ctx, cancel := context.WithCancel(s.withProgress(ctx, call.Meta.ProgressToken))
	key := string(message.ID)
	s.guard.Lock()
	s.cancels[key] = cancel
	s.guard.Unlock()
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer cancel()
		result := called(ctx, tool, call.Arguments)
		s.guard.Lock()
		delete(s.cancels, key)
		s.guard.Unlock()
		// Who has cancelled a call does not wait for its answer.
		if ctx.Err() == nil {
			s.reply(message.ID, result)
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
	result = map[string]any{"content": textContent(string(output)), "isError": false}
	if bytes.HasPrefix(output, []byte("{")) {
		result["structuredContent"] = json.RawMessage(output)
	}
	return result
}

func failed(message string) map[string]any {
	return map[string]any{"content": textContent(message), "isError": true}
}

func textContent(text string) []map[string]string {
	return []map[string]string{{"type": "text", "text": text}}
}

func (s *mcpServer) cancelled(params json.RawMessage) {
	var wanted struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &wanted)
	s.guard.Lock()
	defer s.guard.Unlock()
	if cancel, found := s.cancels[string(wanted.RequestID)]; found {
		cancel()
	}
}

func (s *mcpServer) reply(id json.RawMessage, result any) {
	s.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *mcpServer) refuse(id json.RawMessage, code int, message string) {
	s.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": mcpProblem{code, message}})
}

func (s *mcpServer) send(message map[string]any) {
	data, err := json.Marshal(message)
	if err != nil {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(data, '\n'))
}
