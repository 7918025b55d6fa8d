"""Operations of an OpenAPI document as tools: as they are, without the words that a definition file needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ferrule.definitions.content.extension import restore_tool
from ferrule.definitions.formats.origins import doubts
from ferrule.definitions.openapi.drafts import KIND, Draft, Drafting
from ferrule.definitions.openapi.names import name_of
from ferrule.definitions.openapi.operation_documents import Modern
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import refs_in
from ferrule.definitions.openapi.shape import Heading, Media
from ferrule.definitions.openapi.writing import JSON, answer_place, body_place
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool, raw
from ferrule.model.value import Path
from ferrule.schema.references import relocate

DIALECT = "openapi"


class Reader:
    """Makes tools of the operations of one document."""

    def __init__(self, document: OpenApi, namespace: str, names: Mapping[str, str]) -> None:
        self._document = document
        self._namespace = namespace
        self._names = names
        self._drafting = Drafting(document, prefix=namespace.upper().replace("-", "_").replace(".", "_"))
        self._modern = Modern(document)
        self._taken: set[str] = set()
        self._is_verbatim = document.version in ("3.1", "3.2")  # whose schemas are those of JSON Schema

    def tool(self, heading: Heading) -> Tool:
        """The tool of an operation. Raises Broken."""
        written = self._name(heading)
        name = self._names.get(written, written)
        draft = self._drafting.draft(heading, written)
        operation = draft.operation
        extension = heading.value.get(EXTENSION)
        tool = Tool(
            tool_id=f"{self._namespace}.{name}" if self._namespace else name,
            namespace=self._namespace,
            name=name,
            description=operation.description or operation.summary,
            lifecycle="deprecated" if operation.is_deprecated else "available",
            tool_kind=KIND,
            dialect=DIALECT,
            version=self._document.api_version or None,
            title=operation.summary or None,
            tags=heading.tags,
            input_schema=raw(self._input(draft)),
            output_schema=self._output(draft),
            facts=draft.facts,
            inferred_facts=draft.inferred_facts,
            credentials=raw(draft.access.credentials) if draft.access.refs else None,
            payload=raw(
                {
                    "definition": self._modern.document_of(
                        operation, draft.address.url if draft.address.is_known else "", draft.access.refs
                    ),
                    "external_mappings": [draft.mapping],
                }
            ),
        )
        if not isinstance(extension, dict):
            return tool
        after = restore_tool(tool, extension)
        for doubt in doubts(tool, after, heading.path, EXTENSION):
            self._document.keep(doubt)
        return after

    def _name(self, heading: Heading) -> str:
        name = made = heading.operation_id or name_of(heading)
        number = 1
        while made in self._taken:
            number += 1
            made = f"{name}_{number}"
        self._taken.add(made)
        return made

    def _input(self, draft: Draft) -> Any:
        """The arguments. A JSON body of 3.1 that is all there is counts as it is written."""
        operation = draft.operation
        body = operation.body
        is_all = body is not None and body.is_required and len(body.media) == 1 and not operation.parameters
        if body is not None and is_all and self._is_verbatim and "{" not in operation.heading.template:
            own = _verbatim(body.media[0], body_place(operation.heading.template, operation.heading.method))
            if own is not None:
                return own
        return draft.sending.schema

    def _output(self, draft: Draft) -> msgspec.Raw | None:
        good = [answer for answer in draft.operation.answers if answer.status[:1] == "2"]
        media = [each for answer in good for each in answer.media]
        if not any(each.schema is not None for each in media):
            return None
        if self._is_verbatim and len(media) == 1:
            heading = draft.operation.heading
            own = _verbatim(media[0], answer_place(heading.template, heading.method, good[0].status))
            if own is not None:
                return raw(own)
        return raw(draft.answering.schema)


def _verbatim(media: Media, place: Path) -> Any:
    """A schema of an object that refers to nothing but itself, as it would stand alone; None for any other."""
    schema = media.schema
    if media.media_type != JSON or not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return None
    alone = relocate(schema, place, ())
    leads_out = any(ref.startswith(("#/components/", "#/paths/")) for ref in refs_in(alone))
    return None if leads_out else alone
