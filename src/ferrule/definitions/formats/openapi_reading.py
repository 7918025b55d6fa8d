"""Reads operations of an OpenAPI document as tools, without the placeholders that a definition file needs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ferrule.definitions.content.extension import restore_tool
from ferrule.definitions.formats.origins import find_doubtful_claims
from ferrule.definitions.openapi.drafts import KIND, Drafter, OperationDraft
from ferrule.definitions.openapi.names import build_name, take_unique
from ferrule.definitions.openapi.operation_documents import ModernWriter
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.references import list_references
from ferrule.definitions.openapi.shape import Heading, Media
from ferrule.definitions.openapi.writing import JSON, locate_answer, locate_body
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool, raw
from ferrule.model.value import Path
from ferrule.schema.references import relocate

DIALECT = "openapi"


class OperationReader:
    """Makes tools from the operations of one document."""

    def __init__(self, document: OpenApi, namespace: str, names: Mapping[str, str]) -> None:
        self._document = document
        self._namespace = namespace
        self._names = names
        self._drafting = Drafter(document, prefix=namespace.upper().replace("-", "_").replace(".", "_"))
        self._modern = ModernWriter(document)
        self._taken: set[str] = set()
        self._is_verbatim = document.version in ("3.1", "3.2")  # their schemas are JSON Schema

    def read_tool(self, heading: Heading) -> Tool:
        """Returns the tool of an operation. Raises Broken."""
        written = self._choose_name(heading)
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
            input_schema=raw(self._build_input(draft)),
            output_schema=self._build_output(draft),
            facts=draft.facts,
            inferred_facts=draft.inferred_facts,
            credentials=raw(draft.access.credentials) if draft.access.refs else None,
            payload=raw(
                {
                    "definition": self._modern.write_document(
                        operation, draft.address.url if draft.address.is_known else "", draft.access.refs
                    ),
                    "external_mappings": [draft.mapping],
                }
            ),
        )
        if not isinstance(extension, dict):
            return tool
        after = restore_tool(tool, extension)
        for doubt in find_doubtful_claims(tool, after, heading.path, EXTENSION):
            self._document.add_finding(doubt)
        return after

    def _choose_name(self, heading: Heading) -> str:
        return take_unique(heading.operation_id or build_name(heading), self._taken)

    def _build_input(self, draft: OperationDraft) -> object:
        """Returns the schema of the arguments. A required JSON body of 3.1 without parameters beside it is used unchanged."""
        operation = draft.operation
        body = operation.body
        is_all = body is not None and body.is_required and len(body.media) == 1 and not operation.parameters
        # A place in the path is an argument too, also where no parameter declares it.
        if body is not None and is_all and self._is_verbatim and "{" not in operation.heading.template:
            own = _copy_schema(body.media[0], locate_body(operation.heading.template, operation.heading.method))
            if own is not None:
                return own
        return draft.request.schema

    def _build_output(self, draft: OperationDraft) -> msgspec.Raw | None:
        good = [answer for answer in draft.operation.answers if answer.status[:1] == "2"]
        media = [each for answer in good for each in answer.media]
        if not any(each.schema is not None for each in media):
            return None
        if self._is_verbatim and len(media) == 1:
            heading = draft.operation.heading
            own = _copy_schema(media[0], locate_answer(heading.template, heading.method, good[0].status))
            if own is not None:
                return raw(own)
        return raw(draft.response.schema)


def _copy_schema(media: Media, place: Path) -> object:
    """Returns a schema of an object with no references out of it, as it would stand alone; None for any other."""
    schema = media.schema
    if media.media_type != JSON or not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return None
    alone = relocate(schema, place, ())
    leads_out = any(ref.startswith(("#/components/", "#/paths/")) for ref in list_references(alone))
    return None if leads_out else alone
