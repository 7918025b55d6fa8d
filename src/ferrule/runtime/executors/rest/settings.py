"""The `transport` of a `rest-api` tool as a record: AML's own keys, and our extensions, which begin with `x-`.

`mapping.py` compiles it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

BodyKind = Literal["json", "form", "multipart", "text", "binary", "none"]
Style = Literal[
    "repeat", "comma", "space", "pipe", "deep", "json", "form", "form-exploded",
    "simple", "simple-exploded", "label", "label-exploded", "matrix", "matrix-exploded", "cookie",
]  # fmt: skip
"""How a list or an object is written: the first eight are for queries and forms, the others for paths and headers."""
PlacedStyle = Style | Literal["json-text"]
"""A style, or JSON text of any value, which `content_type: application/json` selects for a parameter."""
Scalar = str | int | float | bool


class ParameterPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"place": "in"}):
    """The place of one argument: an entry of `x-mapping`."""

    place: Literal["path", "query", "header", "cookie", "body", "file"]
    name: str = ""
    """Its name there; the argument's own name by default. In a JSON body also a JSON pointer: `/customer/id`."""
    style: Style = "repeat"
    """The style, except for files and JSON bodies."""
    whole: bool = False
    """For `body`: the argument is the complete body, not a member of it."""
    reserved: bool = False
    """For `path`, `query`, and `body` in a form: slashes and other reserved characters are not encoded."""
    content_type: str = ""
    """The media type of a multipart part; for a parameter only `application/json`, JSON text."""


class AnswerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"member": "as"}):
    """The part of an answer that is the tool's output: `x-response`."""

    pointer: str = ""
    """JSON pointer into the answer: `/data/items`."""
    member: str = ""
    """The member of a new object that holds the value. For a text answer the member is `text` by default."""
    type: Literal["", "json", "text", "binary"] = ""
    """The type of the answer, overriding its content type."""
    empty: bool = False
    """True: an empty answer is a success, whatever the status and the tool."""


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """The part of `retry_policy` that the executor needs; the pipeline makes the attempts."""

    max_attempts: int = 3
    on_status: list[int] | None = None

    @property
    def is_off(self) -> bool:
        """True when its author wants a single request (AML-43, AML-44)."""
        return self.max_attempts <= 1 or self.on_status == []


class RestTransport(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint. The executor ignores keys that are not listed here."""

    base_url: str
    endpoint: str
    retry_policy: Retries = Retries()
    query: dict[str, Scalar | list[Scalar]] = msgspec.field(name="x-query", default_factory=dict)
    """Fixed query parameters; `{name}` stands for an argument."""
    headers: dict[str, Scalar] = msgspec.field(name="x-headers", default_factory=dict)
    """Fixed headers; `{name}` stands for an argument."""
    body: BodyKind | None = msgspec.field(name="x-body", default=None)
    """The kind of body for arguments without a place of their own; `none`: they go into the query."""
    mapping: dict[str, ParameterPlace] = msgspec.field(name="x-mapping", default_factory=dict)
    """Places of single arguments, by their names."""
    answer: AnswerSettings = msgspec.field(name="x-response", default_factory=AnswerSettings)
    idempotency_header: str = msgspec.field(name="x-idempotency-header", default="Idempotency-Key")
    """The header that carries the call's idempotency key."""
    probe: str = msgspec.field(name="x-probe", default="")
    """A harmless request for `ferrule doctor`: `GET /health`."""
    credentials: dict[str, Any] = {}
