"""The languages that come with Ferrule."""

from __future__ import annotations

from ferrule.contracts.language import Language
from ferrule.contracts.registry import Registry

TABLE = {
    "go": "ferrule.definitions.stubs.languages.go.language:LANGUAGE",
    "typescript": "ferrule.definitions.stubs.languages.typescript.language:LANGUAGE",
    "rust": "ferrule.definitions.stubs.languages.rust.language:LANGUAGE",
    "python": "ferrule.definitions.stubs.languages.python.language:LANGUAGE",
}

LANGUAGES: Registry[Language] = Registry("language", TABLE, "ferrule.languages")
