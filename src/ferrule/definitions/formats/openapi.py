"""OpenAPI documents: read in every version, written in 3.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ferrule.contracts.format import Reading, ReadTool, WriteOptions, Writing
from ferrule.definitions.formats.openapi_reading import DIALECT, Reader
from ferrule.definitions.formats.openapi_writing import Writer
from ferrule.definitions.openapi.drafts import namespace_of
from ferrule.definitions.openapi.read import read_document, version_of
from ferrule.definitions.openapi.shape import LEFT_OUT, SYNTAX
from ferrule.model.diagnostic import Finding
from ferrule.model.tool import Tool
from ferrule.model.value import JsonValue
from ferrule.schema.references import Broken

_PARTS = frozenset({"paths", "webhooks", "components", "info", "definitions"})


class OpenApiFormat:
    """OpenAPI."""

    name = DIALECT
    title = "OpenAPI"

    def detect(self, value: JsonValue) -> bool:
        """True for a document that says its version, and has paths or something else to offer."""
        return bool(version_of(value)) and isinstance(value, dict) and not value.keys().isdisjoint(_PARTS)

    def read(self, value: JsonValue, namespace: str, names: Mapping[str, str]) -> Reading:
        """The operations of a document. Without a namespace its title gives one."""
        try:
            document = read_document(value)
        except Broken as problem:
            return Reading((), (problem.finding,))
        space = namespace or namespace_of(document)
        reader = Reader(document, space, names)
        tools: list[ReadTool] = []
        for heading in document.headings():
            try:
                tools.append(ReadTool(reader.tool(heading), heading.path))
            except (Broken, RecursionError) as problem:
                told = f"no tool can be made of {heading.label}: {problem}"
                document.keep(Finding(LEFT_OUT, heading.path, told))
        if not tools and not document.findings:
            document.tell(SYNTAX, ("paths",), "there are no operations in it", hint="give a document with `paths`")
        return Reading(tuple(tools), tuple(document.findings))

    def write(self, tools: Sequence[Tool], options: WriteOptions) -> Writing:
        """A document of 3.1 with these tools."""
        return Writer(tools, options, self.read).writing()


FORMAT = OpenApiFormat()
