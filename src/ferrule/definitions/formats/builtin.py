"""The formats that come with Ferrule, in the order they are asked whether a document is theirs."""

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
    "mistral": "ferrule.definitions.formats.mistral:FORMAT",
    "ollama": "ferrule.definitions.formats.ollama:FORMAT",
    "gemini-openapi": "ferrule.definitions.formats.gemini:OPENAPI_SUBSET",
}
"""Lists of the same shape are the first one's: Mistral's and Ollama's are read as OpenAI's unless somebody says otherwise."""

FORMATS: Registry[Format] = Registry("format", TABLE)
