"""The `transport` of a `rest-api` tool as a record: AML's own keys, and our extensions, which begin with `x-`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

BodyKind = Literal["json", "form", "multipart", "text", "binary", "none"]
Style = Literal[
    "repeat", "comma", "space", "pipe", "deep", "json", "form", "form-exploded",
    "simple", "simple-exploded", "label", "label-exploded", "matrix", "matrix-exploded", "cookie",
]  # fmt: skip
"""How a list or an object stands where it goes: in a query or a form the first eight, in a path or a header the others."""
PlacedStyle = Style | Literal["json-text"]
"""The same, and JSON text of any value: what `content_type: application/json` makes of a parameter."""
Scalar = str | int | float | bool


class ParameterPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"place": "in"}):
    """Where one argument goes: an entry of `x-mapping`."""

    place: Literal["path", "query", "header", "cookie", "body", "file"]
    name: str = ""
    """What it is called there; its own name when not said. In a JSON body also a JSON pointer: `/customer/id`."""
    style: Style = "repeat"
    """Of everything but files and JSON bodies."""
    whole: bool = False
    """Of `body`: it is the body, not a member of it."""
    reserved: bool = False
    """Of `path`, `query`, and `body` in a form: slashes and the like are sent as they are."""
    content_type: str = ""
    """Of a part of a multipart body: what it is. Of a parameter: `application/json`, JSON text."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"member": "as"}):
    """What of an answer is the tool's output: `x-response`."""

    pointer: str = ""
    """JSON pointer into the answer: `/data/items`."""
    member: str = ""
    """Put what was found into an object under this name. Of a text answer: the member that holds it, `text` when not said."""
    type: Literal["", "json", "text", "binary"] = ""
    """What the answer is, whatever its content type says."""
    empty: bool = False
    """An empty answer is a success, whatever its status and the tool."""


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """The `retry_policy`, as far as it concerns the executor; attempts are the pipeline's business."""

    max_attempts: int = 3
    on_status: list[int] | None = None

    @property
    def is_off(self) -> bool:
        """True when its author wants one request and no more (AML-43, AML-44)."""
        return self.max_attempts <= 1 or self.on_status == []


class RestTransport(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint. Keys that are not here mean nothing to this executor."""

    base_url: str
    endpoint: str
    retry_policy: Retries = Retries()
    query: dict[str, Scalar | list[Scalar]] = msgspec.field(name="x-query", default_factory=dict)
    """Fixed query parameters; `{name}` stands for an argument."""
    headers: dict[str, Scalar] = msgspec.field(name="x-headers", default_factory=dict)
    """Fixed headers; `{name}` stands for an argument."""
    body: BodyKind | None = msgspec.field(name="x-body", default=None)
    """How arguments are written that are not said to go elsewhere; `none`: they go to the query."""
    mapping: dict[str, ParameterPlace] = msgspec.field(name="x-mapping", default_factory=dict)
    """Where single arguments go, by their names."""
    answer: Answer = msgspec.field(name="x-response", default_factory=Answer)
    idempotency_header: str = msgspec.field(name="x-idempotency-header", default="Idempotency-Key")
    """Where the call's idempotency key is sent."""
    probe: str = msgspec.field(name="x-probe", default="")
    """A harmless request for `ferrule doctor`: `GET /health`."""
    credentials: dict[str, Any] = {}
