"""The one shape into which documents of every version are read.

Schemas stay as they were written; `schemas.py` knows them. `mapping` and `text` take a member of an object that somebody
else wrote for what it should be, or give nothing.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ferrule.model.value import Path

Version = Literal["2.0", "3.0", "3.1", "3.2"]

SYNTAX = "OAS-1"
"""The document, or an object of it, is not what OpenAPI says it is."""
SCHEMA = "OAS-3"
"""A schema, or a keyword of one, that cannot be carried over as it is written."""
PARAMETER = "OAS-4"
"""A parameter or a body that cannot be sent as it is described."""
SECURITY = "OAS-5"
"""A way to authenticate that cannot be said."""
SERVER = "OAS-6"
"""An address that is missing, incomplete or one of several."""
CHOICE = "OAS-7"
"""Several could be taken, and one was; or a name had to be changed."""
LEFT_OUT = "OAS-8"
"""An operation that no tool can be made of."""
FILLED = "OAS-9"
"""Something that the document does not say and was filled in."""


class Parameter(NamedTuple):
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
    """`allowReserved`: reserved characters go out as they are."""
    media_type: str
    """Of a parameter with `content`; empty otherwise."""
    is_deprecated: bool
    examples: tuple[Any, ...]
    path: Path


class Media(NamedTuple):
    """One way to write a body."""

    media_type: str
    schema: Any
    """None when the document does not say."""
    encoding: dict[str, Any]
    """Of the members of a form or multipart body, by name."""
    examples: tuple[Any, ...]
    is_sequence: bool
    """True for a stream of items (`itemSchema`), whose schema is that of one."""
    path: Path


class Body(NamedTuple):
    """What is sent."""

    is_required: bool
    description: str
    media: tuple[Media, ...]
    path: Path


class Answer(NamedTuple):
    """What comes back with one status."""

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
    variables: dict[str, Any]
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
    value: dict[str, Any]
    item: dict[str, Any]
    """The path item around it."""
    path: Path
    """Where it is written."""
    item_path: Path

    @property
    def label(self) -> str:
        """What people call it: `GET /pets/{petId}`."""
        return f"{self.method} {self.template}"


class Operation(NamedTuple):
    """One operation, read."""

    heading: Heading
    summary: str
    description: str
    is_deprecated: bool
    parameters: tuple[Parameter, ...]
    body: Body | None
    answers: tuple[Answer, ...]
    security: tuple[dict[str, Any], ...] | None
    """Alternatives, each a mapping of scheme to scopes; None when nothing is said at all."""
    servers: tuple[Server, ...]
    docs_url: str


def mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    """A member that is an object; an empty one for anything else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def text(value: dict[str, Any], key: str) -> str:
    """A member that is text; nothing for anything else."""
    found = value.get(key)
    return found if isinstance(found, str) else ""
