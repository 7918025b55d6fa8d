"""Tools that live on MCP servers, called with the official client."""
