"""aml."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.contracts.dialect import Definition, Emitted
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.outline import Outline
from ferrule.model.tool import Compiled, Tool


class AmlDialect:
    name = "aml"

    def claims_name(self, source: Source) -> bool:
        return False

    def detect(self, document: Document) -> bool:
        return False

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        return [], []

    def issue_rule(self, issue: Issue) -> str:
        return "AML-2"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        return ()

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        return Compiled()

    def emit(self, tool: Tool) -> Emitted:
        return Emitted(None, ())


DIALECT = AmlDialect()
