"""What a dialect must do: recognise a document, cut it into definitions, outline it, and turn tools into the model."""

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
        """True when the file's name (or raw text, for a file that cannot be parsed) says it is of this dialect."""
        ...

    def detect(self, document: Document) -> bool:
        """True when the content is of this dialect, whatever the file is called."""
        ...

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """The document cut into definitions, and findings about its outer shape (with full paths)."""
        ...

    def issue_rule(self, issue: Issue) -> str:
        """The rule a reader's issue breaks in this dialect: `AML-2`, `AML-6`, …"""
        ...

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """What other files need to know of it. Called even when the definition has errors; must not raise."""
        ...

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """The definition in the canonical model. Called only when it has no errors."""
        ...
