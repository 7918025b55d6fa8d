"""What goes wrong with MCP servers, as failures in the standard's words. One table for HTTP, one for JSON-RPC.

Words of the server go into the output, where whoever may read results finds them, never into the message.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.model.failure import ErrorClass, excerpt

CONNECTION_CLOSED = -32000
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
_LONGEST_WORDS = 2_000

Step = Literal["", "before", "session"]
"""`before`: it did not get that far that the server took the request. `session`: the server does not know the session."""


class Mishap(NamedTuple):
    """Something that happened on the way to a server or back."""

    error_class: ErrorClass
    text: str
    """Goes on from "the MCP server NAME"."""
    code: str | None = None
    ref: str | None = None
    retry_after: float | None = None
    words: str = ""
    """What the server said, bounded."""
    status: int | None = None
    step: Step = ""

    def failure(self, label: str) -> ExecutionFailed:
        """As an executor tells it."""
        return ExecutionFailed(
            self.error_class,
            f"the MCP server {label!r} {self.text}",
            code=self.code,
            retry_after=self.retry_after,
            native_error_ref=self.ref,
            output=said(self.words) if self.words else None,
        )


class Refused(ExecutionFailed):
    """A failure that came from the way, or from the server as an error of the protocol."""

    def __init__(self, mishap: Mishap, label: str, rpc_code: int | None = None) -> None:
        made = mishap.failure(label)
        super().__init__(
            made.error_class,
            made.message,
            code=made.code,
            retry_after=made.retry_after,
            native_error_ref=made.native_error_ref,
            output=made.output,
        )
        self.mishap = mishap
        self.rpc_code = rpc_code


_STATUS: dict[int, tuple[ErrorClass, str, str | None]] = {
    401: ("credential_missing", "does not accept the credentials; renew them, or mend where they come from",
          "credential_refused"),
    403: ("permission_denied", "says that this may not be done with these credentials", "upstream_denied"),
    404: ("execution_failed", "is not there: nothing answers under that path; mend the url", "endpoint_not_found"),
    405: ("execution_failed", "does not speak MCP under that path; mend the url", "endpoint_not_found"),
    408: ("dependency_unavailable", "gave up waiting", None),
    413: ("invalid_arguments", "finds the request too long", None),
    429: ("rate_limited", "wants fewer requests", None),
}  # fmt: skip
_REFUSED: tuple[ErrorClass, str, str | None] = ("execution_failed", "refused the request", None)
_BROKEN: tuple[ErrorClass, str, str | None] = ("dependency_unavailable", "is in trouble", None)

_RPC: dict[int, tuple[ErrorClass, str, str | None]] = {
    -32700: ("dependency_unavailable", "could not read what it was sent", "protocol_error"),
    -32600: ("dependency_unavailable", "did not understand the request", "protocol_error"),
    -32601: ("execution_failed", "has no tools, or not this way of calling them", "protocol_error"),
    -32602: ("invalid_arguments", "did not accept the arguments", "protocol_error"),
    -32603: ("dependency_unavailable", "failed inside", "protocol_error"),
    -32001: ("timeout", "took too long", None),
    -32020: ("dependency_unavailable", "found that headers and request do not agree", "protocol_error"),
    -32021: ("capability_gap", "needs something of its client that is not offered here", "upstream_needs_capability"),
    -32022: ("setup_required", "speaks no revision of MCP that is known here", "protocol_version"),
    -32042: ("setup_required", "wants a person to open a page first", "upstream_needs_person"),
}
_OTHER: tuple[ErrorClass, str, str | None] = ("dependency_unavailable", "answered with an error", "protocol_error")


def of_status(status: int, words: str = "", retry_after: float | None = None) -> Mishap:
    """What a status of HTTP means."""
    kind, text, code = _STATUS.get(status) or (_BROKEN if status >= 500 else _REFUSED)
    after = retry_after if status == 429 or status >= 500 else None
    return Mishap(
        kind, f"{text} (HTTP {status})", code, f"http:{status}", after, excerpt(words, _LONGEST_WORDS), status
    )


def of_network(error: Exception) -> Mishap:
    """What kept a request from its answer."""
    match error:
        case Forbidden():
            return Mishap("policy_blocked", f"may not be reached: {error}", "address_forbidden", step="before")
        case Unreachable():
            return Mishap("dependency_unavailable", f"is not there: {error}", "unreachable", "network:unreachable",
                          step="" if error.is_sent else "before")  # fmt: skip
        case TooLong():
            return Mishap("result_too_large", f"gave too much: {error}; ask for less", "too_long")
        case BadRequest():
            return Mishap("setup_required", f"cannot be asked: {error}", step="before")
        case BrokenAnswer():
            return Mishap("dependency_unavailable", f"broke off: {error}", "broken_answer", "network:broken")
        case _:
            return Mishap("dependency_unavailable", f"could not be talked to ({type(error).__name__})")


def of_rpc(code: int, message: str) -> Mishap:
    """What an error of JSON-RPC means. It never is the tool's own failure: that comes as a result (AT-196)."""
    kind, text, short = _RPC.get(code, _OTHER)
    return Mishap(kind, f"{text} (JSON-RPC {code})", short, f"mcp:{code}", words=excerpt(message, _LONGEST_WORDS))


def said(words: str) -> Output:
    """A server's own words, for whoever may read results."""
    return Output(content=({"type": "text", "text": excerpt(words, _LONGEST_WORDS)},))


def blocked(label: str, tool_name: str, why: str, code: str = "upstream_changed") -> ExecutionFailed:
    """A tool that is not what was accepted."""
    return ExecutionFailed(
        "policy_blocked",
        f"the tool {tool_name!r} of the MCP server {label!r} is not what was accepted: {why}. Nothing was sent; look at it"
        " with 'ferrule lock --show', and accept it with 'ferrule lock --accept'",
        code=code,
        is_retryable=False,
    )


def bad_answer(label: str, what: str, raw: Any = None) -> ExecutionFailed:
    """An answer that the protocol does not have."""
    return ExecutionFailed(
        "execution_failed",
        f"the MCP server {label!r} gave an answer that MCP does not have: {what}",
        code="bad_answer",
        native_error_ref="mcp:bad_answer",
        output=None if raw is None else said(str(raw)),
    )
