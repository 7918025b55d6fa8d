"""Converts definitions from any dialect or format to any other, and reports the losses.

It imports `workspace`, `definitions`, `contracts`, `model` and `errors`. It does not know running calls or terminals.
"""

from __future__ import annotations

TARGETS: dict[str, str] = {
    "aml": "AML tool files",
    "adl": "an ADL manifest",
    "oxp": "OXP tool definitions",
    "agent-tool": "Agent Tool records",
    "mcp": "the tool list of an MCP server",
    "openapi": "an OpenAPI document",
    "openai": "OpenAI, chat completions",
    "openai-responses": "OpenAI, responses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "mistral": "Mistral",
    "ollama": "Ollama",
    "bedrock": "Amazon Bedrock, Converse",
}
"""What can be written, and what people call it."""

NAMES_FILE = "ferrule-names.json"
"""Beside a converted file: names that had to be changed, to the tools' own. Read with the file it lies beside."""
