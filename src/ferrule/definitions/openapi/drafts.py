"""Drafts a tool from an operation: name, description, arguments, output, and transport.

`app/imports/openapi.py` writes drafts to files; `definitions/formats/openapi.py` makes tools in memory from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ferrule.definitions.openapi.addresses import Addresses, ServiceAddress
from ferrule.definitions.openapi.arguments import RequestPlan, plan_request
from ferrule.definitions.openapi.credentials import Security, ServiceAccess
from ferrule.definitions.openapi.descriptions import build_description, build_title, guess_paging
from ferrule.definitions.openapi.names import MOST, build_name, take_unique
from ferrule.definitions.openapi.read import OpenApi
from ferrule.definitions.openapi.responses import ResponsePlan, plan_response
from ferrule.definitions.openapi.schemas import Schemas
from ferrule.definitions.openapi.shape import CHOICE, Heading, Operation
from ferrule.definitions.openapi.wording import split_words
from ferrule.model.tool import FACT_NAMES, SafetyFacts
from ferrule.model.value import JsonObject

READING = frozenset({"GET", "HEAD", "OPTIONS", "QUERY", "TRACE"})
"""Methods that change nothing, by the definition of HTTP."""
KIND = "openapi_operation"
SOURCE = "openapi"
_READS = SafetyFacts(is_read_only=True, is_concurrency_safe=True)
_WRITES = SafetyFacts()
_DESTROYS = SafetyFacts(is_destructive=True)


class OperationDraft(NamedTuple):
    """A tool drafted from an operation."""

    name: str
    title: str
    description: str
    operation: Operation
    request: RequestPlan
    response: ResponsePlan
    address: ServiceAddress
    access: ServiceAccess
    paging: JsonObject
    transport: JsonObject
    """The transport, as in an AML file."""

    @property
    def is_reading(self) -> bool:
        """True for a tool that changes nothing."""
        return self.operation.heading.method in READING

    @property
    def facts(self) -> SafetyFacts:
        """The facts that the method implies; all are inferred."""
        if self.is_reading:
            return _READS
        return _DESTROYS if self.operation.heading.method == "DELETE" else _WRITES

    @property
    def inferred_facts(self) -> tuple[str, ...]:
        """All facts: OpenAPI states none of them."""
        return FACT_NAMES

    @property
    def mapping(self) -> JsonObject:
        """The operation, as an external mapping (AT-27)."""
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
        """False when the user has to complete it before it can be called."""
        return self.address.is_known and self.access.is_complete


def _build_transport(
    heading: Heading, sending: RequestPlan, answering: ResponsePlan, address: ServiceAddress, access: ServiceAccess
) -> JsonObject:
    """Builds the transport, as in an AML file."""
    base, template = address.url, sending.template.partition("#")[0]
    if (
        template == "/" and base.count("/") > 2 and "?" not in base
    ):  # most services serve the bare base address without a slash
        base, _, last = base.rpartition("/")
        template = f"/{last}/"
    made: JsonObject = {"type": "rest-api", "base_url": base, "endpoint": f"{heading.method} {template}"}
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


class Drafter:
    """Drafts tools from the operations of one document. Names depend on the order in which they are requested."""

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

    def choose_name(self, heading: Heading) -> str:
        """Returns a name for an operation that no other has."""
        if heading.operation_id:
            if heading.operation_id in self._ids:
                self.document.report(
                    CHOICE,
                    (*heading.path, "operationId"),
                    f"{heading.operation_id!r} is the id of another operation too",
                )
            self._ids.add(heading.operation_id)
        return take_unique(build_name(heading), self._taken, MOST)

    def draft(self, heading: Heading, name: str) -> OperationDraft:
        """Drafts the tool of an operation. Raises Broken."""
        document = self.document
        operation = document.read_operation(heading)
        sending = plan_request(document, self._schemas, operation)
        answering = plan_response(document, self._schemas, operation)
        paging = guess_paging(sending, answering)
        address = self._addresses.resolve(operation.servers)
        access = self._security.resolve(operation.security, (*heading.path, "security"))
        return OperationDraft(
            name,
            build_title(operation, name),
            build_description(operation, document.title, paging),
            operation,
            sending,
            answering,
            address,
            access,
            paging,
            _build_transport(heading, sending, answering, address, access),
        )


def build_namespace(document: OpenApi) -> str:
    """Derives a namespace from a document's title."""
    words = [
        word for word in split_words(document.title) if word.isascii() and word not in ("api", "the", "rest", "openapi")
    ]
    return "-".join(words)[:48].strip("-") or "api"


def encode_facts(facts: SafetyFacts) -> JsonObject:
    """Returns the facts; empty when they are the defaults."""
    return {} if facts is _WRITES else dict(msgspec.to_builtins(facts))
