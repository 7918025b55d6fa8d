"""The languages that come with Ferrule."""

from __future__ import annotations

from ferrule.contracts.language import Language
from ferrule.registry import Registry

TABLE = {
    "go": "ferrule.languages.go.language:LANGUAGE",
    "typescript": "ferrule.languages.typescript.language:LANGUAGE",
    "rust": "ferrule.languages.rust.language:LANGUAGE",
    "python": "ferrule.languages.python.language:LANGUAGE",
}

LANGUAGES: Registry[Language] = Registry("language", TABLE, "ferrule.languages")
