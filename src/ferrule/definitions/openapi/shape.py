"""The one shape into which documents of every version are read.

Schemas stay as they were written; `schemas.py` expands them. `mapping` and `text` return a member of an unchecked object if it
has the expected type, otherwise an empty value.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ferrule.model.value import JsonObject, Path

Version = Literal["2.0", "3.0", "3.1", "3.2"]

SYNTAX = "OAS-1"
"""The document, or an object of it, violates OpenAPI."""
SCHEMA = "OAS-3"
"""A schema, or a keyword of one, that cannot be converted exactly."""
PARAMETER = "OAS-4"
"""A parameter or a body that cannot be sent as it is described."""
SECURITY = "OAS-5"
"""An authentication method that credentials cannot express."""
SERVER = "OAS-6"
"""An address that is missing, incomplete or one of several."""
CHOICE = "OAS-7"
"""One of several alternatives was chosen, or a name was changed."""
LEFT_OUT = "OAS-8"
"""An operation that no tool can be made of."""
FILLED = "OAS-9"
"""A value that the document does not state, and that was filled in."""


class OperationParameter(NamedTuple):
    """A parameter of a path, a query, a header or a cookie; those of a Swagger body are `Media` instead."""

    name: str
    place: str
    """`path`, `query`, `header`, `cookie`, or `querystring` for a parameter that is the whole query."""
    schema: Any
    is_required: bool
    description: str
    style: str
    """`simple`, `form`, `label`, `matrix`, `spaceDelimited`, `pipeDelimited`, `deepObject`, `tabDelimited`."""
    explode: bool
    is_reserved: bool
    """`allowReserved`: reserved characters are not escaped."""
    media_type: str
    """The media type of a parameter with `content`; empty otherwise."""
    is_deprecated: bool
    examples: tuple[Any, ...]
    path: Path


class Media(NamedTuple):
    """One format of a body."""

    media_type: str
    schema: Any
    """None when the document does not give one."""
    encoding: JsonObject
    """The encoding of the members of a form or multipart body, by name."""
    examples: tuple[Any, ...]
    is_sequence: bool
    """True for a stream of items (`itemSchema`); the schema is that of one item."""
    path: Path


class Body(NamedTuple):
    """The body of a request."""

    is_required: bool
    description: str
    media: tuple[Media, ...]
    path: Path


class OperationResponse(NamedTuple):
    """The response with one status."""

    status: str
    """`200`, `4XX`, `default`."""
    description: str
    media: tuple[Media, ...]
    headers: tuple[str, ...]
    """Names, in small letters."""
    path: Path


class Server(NamedTuple):
    """An address, with its variables."""

    url: str
    variables: JsonObject
    description: str
    name: str
    path: Path


class Heading(NamedTuple):
    """An operation before it is read: enough to choose by."""

    method: str
    """In capital letters."""
    template: str
    """The path: `/pets/{petId}`."""
    operation_id: str
    tags: tuple[str, ...]
    value: JsonObject
    item: JsonObject
    """The path item around it."""
    path: Path
    """The path in the document."""
    item_path: Path

    @property
    def label(self) -> str:
        """The short name of an operation: `GET /pets/{petId}`."""
        return f"{self.method} {self.template}"


class Operation(NamedTuple):
    """One operation, read completely."""

    heading: Heading
    summary: str
    description: str
    is_deprecated: bool
    parameters: tuple[OperationParameter, ...]
    body: Body | None
    answers: tuple[OperationResponse, ...]
    security: tuple[JsonObject, ...] | None
    """Alternatives, each a mapping of scheme to scopes; None when the document has none."""
    servers: tuple[Server, ...]
    docs_url: str


def read_object(value: JsonObject, key: str) -> JsonObject:
    """Returns a member that is an object; an empty one for anything else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def read_text(value: JsonObject, key: str) -> str:
    """Returns a member that is text; nothing for anything else."""
    found = value.get(key)
    return found if isinstance(found, str) else ""
