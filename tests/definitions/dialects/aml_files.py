"""AML files as documents, and what they compile to."""

from __future__ import annotations

from ferrule.definitions.compiler.read import read
from ferrule.definitions.dialects.aml import DIALECT
from ferrule.model.document import Document, Source
from ferrule.model.tool import Compiled


def document(text: str, name: str = "tools/send-mail.tool.md") -> Document:
    return read(Source(name, text.encode()))[0]


def compile_file(text: str, name: str = "tools/send-mail.tool.md") -> Compiled:
    read_document = document(text, name)
    (definition,), findings = DIALECT.definitions(read_document)
    assert not findings
    return DIALECT.compile(read_document, definition, "shop")
