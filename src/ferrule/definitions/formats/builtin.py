"""The built-in formats, in the order in which they are asked to recognise a document."""

from __future__ import annotations

from ferrule.contracts.format import Format
from ferrule.contracts.registry import Registry

TABLE = {
    "openapi": "ferrule.definitions.formats.openapi:FORMAT",
    "mcp": "ferrule.definitions.formats.mcp:FORMAT",
    "bedrock": "ferrule.definitions.formats.bedrock:FORMAT",
    "gemini": "ferrule.definitions.formats.gemini:FORMAT",
    "anthropic": "ferrule.definitions.formats.anthropic:FORMAT",
    "openai-responses": "ferrule.definitions.formats.openai:RESPONSES",
    "openai": "ferrule.definitions.formats.openai:CHAT",
    "mistral": "ferrule.definitions.formats.openai:MISTRAL",
    "ollama": "ferrule.definitions.formats.openai:OLLAMA",
    "gemini-openapi": "ferrule.definitions.formats.gemini:OPENAPI_SUBSET",
}
"""Among formats of the same shape the first one wins: Mistral's and Ollama's lists are read as OpenAI's by default."""

FORMATS: Registry[Format] = Registry("format", TABLE)
