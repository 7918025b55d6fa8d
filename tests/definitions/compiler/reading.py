"""Reads one text that holds one document, and the one issue it has."""

from __future__ import annotations

from ferrule.definitions.compiler.read import read
from ferrule.model.document import Document, Source


def one(name: str, text: str | bytes) -> Document:
    data = text.encode() if isinstance(text, str) else text
    documents = read(Source(name, data))
    assert len(documents) == 1
    return documents[0]


def issue_of(name: str, text: str | bytes) -> tuple[str, int]:
    document = one(name, text)
    assert len(document.issues) == 1, document.issues
    return document.issues[0].message, document.issues[0].line
