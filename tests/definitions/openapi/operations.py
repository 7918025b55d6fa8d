"""The short way to one operation of a small document, read but not yet made a tool."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.openapi.read import OpenApi, read_document
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import Heading, Operation


def document_of(
    operation: dict[str, Any] | None = None,
    *,
    method: str = "post",
    path: str = "/pets",
    version: str = "3.1.0",
    **root: Any,
) -> OpenApi:
    """A document with one operation."""
    said = {"swagger": "2.0"} if version == "2.0" else {"openapi": version}
    return read_document({**said, "info": {"title": "Pets", "version": "1.2.0"},
                          "paths": {path: {method: operation or {}}}, **root})  # fmt: skip


def heading_of(document: OpenApi) -> Heading:
    """The heading of its first operation."""
    return next(document.list_headings())


def operation_of(document: OpenApi) -> Operation:
    """Its first operation."""
    return document.read_operation(heading_of(document))


def read_all(operation: dict[str, Any], **more: Any) -> tuple[OpenApi, Schemas, Operation]:
    """What the makers of arguments, bodies and answers work on."""
    document = document_of(operation, **more)
    return document, Schemas(document), operation_of(document)


def messages(document: OpenApi) -> list[str]:
    """What was told about a document."""
    return [each.message for each in document.findings]
