"""The formats that come with Ferrule, in the order they are asked whether a document is theirs."""

from __future__ import annotations

from ferrule.contracts.format import Format
from ferrule.registry import Registry

TABLE = {
    "openapi": "ferrule.formats.openapi:FORMAT",
    "mcp": "ferrule.formats.mcp:FORMAT",
    "bedrock": "ferrule.formats.bedrock:FORMAT",
    "gemini": "ferrule.formats.gemini:FORMAT",
    "anthropic": "ferrule.formats.anthropic:FORMAT",
    "openai-responses": "ferrule.formats.openai:RESPONSES",
    "openai": "ferrule.formats.openai:CHAT",
    "mistral": "ferrule.formats.mistral:FORMAT",
    "ollama": "ferrule.formats.ollama:FORMAT",
    "gemini-openapi": "ferrule.formats.gemini:OPENAPI_SUBSET",
}
"""Lists of the same shape are the first one's: Mistral's and Ollama's are read as OpenAI's unless somebody says otherwise."""

FORMATS: Registry[Format] = Registry("format", TABLE)
