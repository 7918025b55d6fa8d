"""The contract of a dialect: recognise a document, cut it into definitions, outline it, and compile tools into the
model.

`definitions/dialects` holds the dialects and `definitions/compiler` calls them; this module knows neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.outline import Outline
from ferrule.model.tool import Compiled
from ferrule.model.value import JsonValue, Path


class Definition(NamedTuple):
    """One thing a document defines."""

    kind: str
    """`aml.tool`, `aml.agent`, `aml.role`, `adl.manifest`, `oxp.tool`, `agent_tool.declaration`, …"""
    path: Path
    value: dict[str, JsonValue]


class Dialect(Protocol):
    """One definition format. Stateless; shared between threads and processes."""

    name: str

    def claims_name(self, source: Source) -> bool:
        """Returns True when the file's name (or raw text, for a file that cannot be parsed) marks it as this dialect."""
        ...

    def detect(self, document: Document) -> bool:
        """Returns True when the content is of this dialect, whatever the file is called."""
        ...

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """Cuts the document into definitions, and reports findings about its outer shape (with full paths)."""
        ...

    def issue_rule(self, issue: Issue) -> str:
        """Returns the rule that a reader's issue breaks in this dialect: `AML-2`, `AML-6`, …"""
        ...

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """Returns the facts that other files need about a definition. Called even when it has errors; must not raise."""
        ...

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """Compiles the definition into the canonical model. Called only when it has no errors."""
        ...
