package support

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	mcpLastPatience   = time.Second
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
	// revision is the one that was agreed on; empty before.
	revision string
}

// mcpAnswers takes answers to requests: the stream itself, or a batch.
type mcpAnswers interface {
	send(message map[string]any)
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

// finish gives running calls a while to end, then cancels them. One that does not care is left alone.
func (s *mcpServer) finish(cancel context.CancelFunc) {
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	for _, patience := range []time.Duration{mcpPatience, mcpLastPatience} {
		select {
		case <-ended:
			return
		case <-time.After(patience):
			cancel()
		}
	}
}

// receive takes a line: a message, or a batch of them in the revision that has batches.
func (s *mcpServer) receive(ctx context.Context, line []byte) {
	switch {
	case !json.Valid(line):
		refuse(s, json.RawMessage("null"), mcpParseError, "the line is not JSON")
	case line[0] == '[':
		s.receiveBatch(ctx, line)
	default:
		s.take(ctx, line, s, s.running.Done)
	}
}

// take takes one message. When it is answered, or will not be, it says that it is done; before that the server does not end.
func (s *mcpServer) take(ctx context.Context, text []byte, to mcpAnswers, done func()) {
	s.running.Add(1)
	var message mcpMessage
	err := json.Unmarshal(text, &message)
	if err == nil && message.Method == "tools/call" && message.ID != nil {
		s.start(ctx, message, to, done)
		return
	}
	defer done()
	switch {
	case err != nil:
		refuse(to, json.RawMessage("null"), mcpInvalidRequest, "this is no JSON-RPC message")
	case message.Method == "notifications/cancelled":
		s.cancelled(message.Params)
	case message.Method != "" && message.ID != nil:
		s.answer(message, to)
	}
}

func (s *mcpServer) answer(message mcpMessage, to mcpAnswers) {
	switch message.Method {
	case "initialize":
		reply(to, message.ID, s.initialized(message.Params))
	case "ping":
		reply(to, message.ID, struct{}{})
	case "tools/list":
		reply(to, message.ID, map[string]any{"tools": s.listed()})
	default:
		refuse(to, message.ID, mcpUnknownMethod, "there is no method "+message.Method)
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
	s.revision = revision
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

func reply(to mcpAnswers, id json.RawMessage, result any) {
	to.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func refuse(to mcpAnswers, id json.RawMessage, code int, message string) {
	to.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": mcpProblem{code, message}})
}

func (s *mcpServer) send(message map[string]any) {
	s.write(message)
}

// write writes a line.
func (s *mcpServer) write(message any) {
	data, err := json.Marshal(message)
	if err != nil {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(data, '\n'))
}
