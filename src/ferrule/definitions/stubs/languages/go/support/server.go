package support

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

type object map[string]any

type mcpRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string          `json:"protocolVersion"`
		RequestID       json.RawMessage `json:"requestId"`
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
		Meta            map[string]any  `json:"_meta"`
	} `json:"params"`
}

type mcpServer struct {
	info    object
	tools   []Tool
	out     *json.Encoder
	writing sync.Mutex
	calls   sync.WaitGroup
	cancels sync.Map
}

// Serve speaks the Model Context Protocol, one message a line, until the input ends. Calls run side by side.
func Serve(ctx context.Context, name, version string, tools []Tool, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &mcpServer{info: object{"name": name, "version": version}, tools: tools, out: json.NewEncoder(out)}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var request mcpRequest
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			server.send(object{"id": nil, "error": object{"code": -32700, "message": err.Error()}})
		} else if stop, ok := server.cancels.Load(string(request.Params.RequestID)); ok {
			stop.(context.CancelFunc)()
		} else if request.ID != nil {
			server.answer(ctx, request)
		}
	}
	time.AfterFunc(10*time.Second, cancel) // calls that still run have that long
	server.calls.Wait()
	return lines.Err()
}

func (s *mcpServer) answer(ctx context.Context, request mcpRequest) {
	answer := object{"id": request.ID}
	switch request.Method {
	case "initialize":
		revision := "2025-11-25"
		if request.Params.ProtocolVersion == "2025-06-18" {
			revision = "2025-06-18"
		}
		answer["result"] = object{"protocolVersion": revision, "capabilities": object{"tools": object{}}, "serverInfo": s.info}
	case "ping":
		answer["result"] = object{}
	case "tools/list":
		answer["result"] = object{"tools": s.tools}
	case "tools/call":
		for _, tool := range s.tools {
			if tool.Name == request.Params.Name {
				s.start(ctx, request, tool)
				return
			}
		}
		answer["error"] = object{"code": -32602, "message": "Unknown tool: " + request.Params.Name}
	default:
		answer["error"] = object{"code": -32601, "message": "Unknown method: " + request.Method}
	}
	s.send(answer)
}

func (s *mcpServer) start(ctx context.Context, request mcpRequest, tool Tool) {
	ctx, cancel := context.WithCancel(ctx)
	s.cancels.Store(string(request.ID), cancel)
	if token := request.Params.Meta["progressToken"]; token != nil {
		ctx = context.WithValue(ctx, progressKey{}, func(done, total float64, message string) {
			params := object{"progressToken": token, "progress": done, "message": message}
			if total > 0 {
				params["total"] = total
			}
			s.send(object{"method": "notifications/progress", "params": params})
		})
	}
	s.calls.Add(1)
	go func() {
		defer s.calls.Done()
		result := result(ctx, tool, request.Params.Arguments)
		s.cancels.Delete(string(request.ID))
		if ctx.Err() == nil { // nobody waits for the answer to a canceled call
			s.send(object{"id": request.ID, "result": result})
		}
		cancel()
	}()
}

// result calls a tool. A panic in it ends the call and not the server.
func result(ctx context.Context, tool Tool, input []byte) (result object) {
	defer func() {
		if problem := recover(); problem != nil {
			result = object{"content": contentOf(fmt.Sprint("the tool broke: ", problem)), "isError": true}
		}
	}()
	if input == nil || string(input) == "null" {
		input = []byte("{}")
	}
	output, err := tool.Call(ctx, input)
	if err != nil {
		return object{"content": contentOf(err.Error()), "isError": true}
	}
	var value any = string(output)
	if output[0] == '"' || string(output) == "null" { // a text is told as it is, and null as no content
		_ = json.Unmarshal(output, &value)
	}
	result = object{"content": contentOf(value), "isError": false}
	if output[0] == '{' {
		result["structuredContent"] = json.RawMessage(output)
	}
	return result
}

func contentOf(value any) []object {
	if value == nil {
		return []object{}
	}
	return []object{{"type": "text", "text": value}}
}

func (s *mcpServer) send(message object) {
	message["jsonrpc"] = "2.0"
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.out.Encode(message)
}
