"""The edges a workspace is served by: MCP, OXP and HTTP, from one process. They decode, call the app and encode; nothing else."""
