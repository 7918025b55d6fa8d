"""Replies of the HTTP API: a JSON value with its ETag and links, or problem details (RFC 9457).

A problem has one status and one stable code. Routes return replies and raise problems; `endpoint` encodes both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec

from ferrule.errors import (
    AccessError,
    BatchError,
    FerruleError,
    InboxError,
    LedgerUnavailable,
    OutcomeUnrecorded,
    SurfaceError,
    UnfitAnswer,
)
from ferrule.model.failure import ErrorClass
from ferrule.servers.asgi import JSON, Header, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.root import problem

_encode = msgspec.json.Encoder().encode
NO_STORE: Header = (b"cache-control", b"no-store")
CHECKED: Header = (b"cache-control", b"private, no-cache")


class JsonReply(msgspec.Struct, frozen=True):
    """A JSON value with its status and headers."""

    value: Any
    status: int = 200
    headers: tuple[Header, ...] = ()
    is_final: bool = True
    """False for a value that will change soon: it gets no ETag."""


AnyReply: TypeAlias = JsonReply | HttpAnswer | HttpStream


def encode_reply(reply: JsonReply, request: HttpRequest, *, is_tagged: bool) -> HttpAnswer:
    """Encodes a reply; 304 for a client that already has these bytes."""
    body = _encode(reply.value)
    if not (is_tagged and reply.is_final and reply.status == 200):
        return HttpAnswer(reply.status, body, (JSON, NO_STORE, *reply.headers))
    tag = etag_of(body)
    if has_tag(request, tag):
        return HttpAnswer(304, b"", ((b"etag", tag), CHECKED))
    return HttpAnswer(200, body, (JSON, CHECKED, (b"etag", tag), *reply.headers))


def etag_of(body: bytes) -> bytes:
    """Returns the ETag of a body."""
    return b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode()


def has_tag(request: HttpRequest, tag: bytes) -> bool:
    """Returns True when `If-None-Match` names this ETag (weak comparison)."""
    for header in request.all_headers(b"if-none-match"):
        for one in header.split(b","):
            name = one.strip().removeprefix(b"W/")
            if name in (b"*", tag):
                return True
    return False


def next_link(path: str, query: Iterable[tuple[str, str]], cursor: str) -> str:
    """Returns the address of the next page."""
    kept = [(name, value) for name, value in query if name != "cursor"]
    return f"{path}?" + "&".join(
        f"{quote(name)}={quote(value, safe='')}" for name, value in [*kept, ("cursor", cursor)]
    )


def link_header(address: str) -> Header:
    """Returns the header `Link: <…>; rel="next"`."""
    return (b"link", f'<{address}>; rel="next"'.encode("ascii"))


STATUSES: dict[ErrorClass, int] = {
    "unknown_tool": 404,
    "schema_not_loaded": 409,
    "schema_validation_failed": 422,
    "invalid_arguments": 422,
    "setup_required": 409,
    "credential_missing": 409,
    "capability_gap": 409,
    "hook_blocked": 403,
    "permission_denied": 403,
    "approval_rejected": 403,
    "policy_blocked": 403,
}
"""Statuses of calls that were refused. Any other error class ends a call that was made, and that is a 200."""
CONFLICT_CODES = frozenset({"idempotency_conflict"})
"""Codes of refused calls that are a 409 whatever their error class."""


class Member(msgspec.Struct, frozen=True):
    """One invalid member of a request."""

    pointer: str
    """A JSON pointer (RFC 6901) into the body. Empty for the body itself."""
    detail: str


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A problem as clients receive it."""

    type: str
    title: str
    status: int
    code: str
    """Stable; programs decide by it."""
    detail: str
    """For people."""
    request_id: str | msgspec.UnsetType = msgspec.UNSET
    errors: list[Member] | msgspec.UnsetType = msgspec.UNSET
    error_class: str | msgspec.UnsetType = msgspec.UNSET
    invocation_id: str | msgspec.UnsetType = msgspec.UNSET
    result: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Problem(Exception):
    """Ends a request with problem details."""

    def __init__(
        self, status: int, code: str, detail: str, *, headers: Iterable[Header] = (), **more: object
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = tuple(headers)
        self.more = more

    def answer(self, request_id: str) -> HttpAnswer:
        """Returns the answer to send."""
        answer = problem(self.status, self.code, self.detail, request_id=request_id, **self.more)
        answer.headers += self.headers
        return answer


def not_found(what: str = "nothing of yours is at this path") -> Problem:
    """Returns the one problem for what does not exist and for what belongs to another tenant or principal, so that a
    caller cannot tell them apart.
    """
    return Problem(404, "not_found", what)


def problem_of(error: FerruleError) -> Problem | None:
    """Returns the problem that a client sees for one of our exceptions; None for one that only the log reports."""
    match error:
        case UnfitAnswer():
            return Problem(422, "unfit_answer", str(error))
        case InboxError():
            return Problem(409, "cannot_be_answered", str(error))
        case AccessError():
            return Problem(403, "forbidden", str(error))
        case BatchError():
            return Problem(409, "batch_refused", str(error))
        case SurfaceError():
            return Problem(403, "no_surface", "there is no surface for this credential; ask whoever made it")
        case LedgerUnavailable() | OutcomeUnrecorded():
            retry = [(b"retry-after", b"5")]
            return Problem(503, "ledger_unavailable", "the ledger cannot be written or read now", headers=retry)
        case _:
            return None
