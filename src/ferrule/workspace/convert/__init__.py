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
"""The targets of a conversion, with their titles."""

NAMES_FILE = "ferrule-names.json"
"""A file beside a converted one: changed names, to the tools' own. It is read with that file."""
