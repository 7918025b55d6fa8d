"""What upstream MCP servers say about their tools, pinned: the lock file, what differs from it, and tools made from it."""
