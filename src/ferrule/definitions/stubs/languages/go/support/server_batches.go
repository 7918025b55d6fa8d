package support

import (
	"context"
	"encoding/json"
	"sync"
)

// mcpBatches is the one revision that has batches: several messages on one line, whose answers are one line too.
const mcpBatches = "2025-03-26"

// mcpBatch gathers the answers to a batch, and writes them when the last message is done.
type mcpBatch struct {
	server  *mcpServer
	guard   sync.Mutex
	open    int
	answers []map[string]any
}

func (s *mcpServer) receiveBatch(ctx context.Context, line []byte) {
	var texts []json.RawMessage
	if err := json.Unmarshal(line, &texts); err != nil || len(texts) == 0 || s.revision != mcpBatches {
		refuse(s, json.RawMessage("null"), mcpInvalidRequest, "the line is no JSON-RPC message, or an empty batch")
		return
	}
	batch := &mcpBatch{server: s, open: len(texts)}
	for _, text := range texts {
		s.take(ctx, text, batch, batch.done)
	}
}

func (b *mcpBatch) send(message map[string]any) {
	b.guard.Lock()
	defer b.guard.Unlock()
	b.answers = append(b.answers, message)
}

// done counts a message that is answered or needs no answer.
func (b *mcpBatch) done() {
	defer b.server.running.Done()
	b.guard.Lock()
	defer b.guard.Unlock()
	if b.open--; b.open == 0 && len(b.answers) > 0 {
		b.server.write(b.answers)
	}
}
