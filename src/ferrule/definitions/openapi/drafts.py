"""An operation as a tool: its name, what it says to a model, what it takes and gives, and how it is reached.

The way from here to a file is `app/imports/openapi.py`, the way to a tool in memory `definitions/formats/openapi.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.openapi.addresses import Address, Addresses
from ferrule.definitions.openapi.arguments import Sending, sending_of
from ferrule.definitions.openapi.credentials import Access, Security
from ferrule.definitions.openapi.descriptions import description_of, paging_of, title_of
from ferrule.definitions.openapi.names import name_of, unique
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.responses import Answering, answering_of
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import CHOICE, Heading, Operation
from ferrule.definitions.openapi.wording import words_of
from ferrule.model.tool import FACT_NAMES, SafetyFacts

READING = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
"""Methods that change nothing, because HTTP says so."""
KIND = "openapi_operation"
SOURCE = "openapi"
_READS = SafetyFacts(is_read_only=True, is_concurrency_safe=True)
_WRITES = SafetyFacts()
_DESTROYS = SafetyFacts(is_destructive=True)


class Draft(NamedTuple):
    """A tool to be."""

    name: str
    title: str
    description: str
    operation: Operation
    sending: Sending
    answering: Answering
    address: Address
    access: Access
    paging: dict[str, Any]
    transport: dict[str, Any]
    """How it is reached, as an AML file says it."""

    @property
    def is_reading(self) -> bool:
        """True for a tool that changes nothing."""
        return self.operation.heading.method in READING

    @property
    def facts(self) -> SafetyFacts:
        """What the method says about it; all of it inferred."""
        if self.is_reading:
            return _READS
        return _DESTROYS if self.operation.heading.method == "DELETE" else _WRITES

    @property
    def inferred_facts(self) -> tuple[str, ...]:
        """Nobody stated any of them."""
        return FACT_NAMES

    @property
    def mapping(self) -> dict[str, Any]:
        """Where it comes from, as an external mapping (AT-27)."""
        heading = self.operation.heading
        return {
            "source": SOURCE,
            **({"operation_id": heading.operation_id} if heading.operation_id else {}),
            "method": heading.method,
            "path": heading.template,
            "server_url": self.address.url,
            "security_scheme_refs": list(self.access.refs),
            **({"pagination": {**self.paging, "inferred": True}} if self.paging else {}),
        }

    @property
    def is_ready(self) -> bool:
        """False when somebody has to complete it before it can be called."""
        return self.address.is_known and self.access.is_complete


def _transport(
    heading: Heading, sending: Sending, answering: Answering, address: Address, access: Access
) -> dict[str, Any]:
    """How a tool is reached, as an AML file says it."""
    base, template = address.url, sending.template.partition("#")[0]
    if template == "/" and base.count("/") > 2 and "?" not in base:  # a bare slash is rarely meant
        base, _, last = base.rpartition("/")
        template = f"/{last}/"
    made: dict[str, Any] = {"type": "rest-api", "base_url": base, "endpoint": f"{heading.method} {template}"}
    for key in ("x-body", "x-mapping"):
        if key in sending.transport:
            made[key] = sending.transport[key]
    headers = {**answering.transport.get("x-headers", {}), **sending.transport.get("x-headers", {})}
    if headers:
        made["x-headers"] = headers
    if "x-response" in answering.transport:
        made["x-response"] = answering.transport["x-response"]
    made["credentials"] = access.credentials
    return made


class Drafting:
    """Makes tools of the operations of one document. Names are given in the order in which they are asked for."""

    def __init__(
        self,
        document: OpenApi,
        *,
        source: str = "",
        server: str = "",
        variables: Mapping[str, str] | None = None,
        client_id: str = "",
        prefix: str = "",
    ) -> None:
        self.document = document
        self._schemas = Schemas(document)
        self._addresses = Addresses(document, source, server, variables or {})
        self._security = Security(document, prefix, client_id)
        self._taken: set[str] = set()
        self._ids: set[str] = set()

    def name(self, heading: Heading) -> str:
        """A name for an operation, which no other has."""
        if heading.operation_id:
            if heading.operation_id in self._ids:
                self.document.tell(
                    CHOICE,
                    (*heading.path, "operationId"),
                    f"{heading.operation_id!r} is the id of another operation too",
                )
            self._ids.add(heading.operation_id)
        return unique(name_of(heading), self._taken)

    def draft(self, heading: Heading, name: str) -> Draft:
        """The tool of an operation. Raises Broken."""
        document = self.document
        operation = document.operation(heading)
        sending = sending_of(document, self._schemas, operation)
        answering = answering_of(document, self._schemas, operation)
        paging = paging_of(sending, answering)
        address = self._addresses.of(operation.servers)
        access = self._security.of(operation.security, (*heading.path, "security"))
        return Draft(
            name,
            title_of(operation, name),
            description_of(operation, document.title, paging),
            operation,
            sending,
            answering,
            address,
            access,
            paging,
            _transport(heading, sending, answering, address, access),
        )


def namespace_of(document: OpenApi) -> str:
    """A namespace from a document's title."""
    words = [
        word for word in words_of(document.title) if word.isascii() and word not in ("api", "the", "rest", "openapi")
    ]
    return "-".join(words)[:48].strip("-") or "api"


def facts_as_json(facts: SafetyFacts) -> dict[str, Any]:
    """The facts that differ from what nobody states."""
    return {} if facts is _WRITES else dict(msgspec.to_builtins(facts))
