"""Failures of MCP servers as error classes: one table for HTTP statuses, one for JSON-RPC errors.

The server's own words go into the output, which only readers of results see, never into the message. Everything else in
this package reports failures through here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.model.failure import ErrorClass, excerpt

CONNECTION_CLOSED = -32000
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
_LONGEST_WORDS = 2_000

Step = Literal["", "before", "session"]
"""`before`: the server did not receive the request. `session`: the server does not know the session."""


class UpstreamProblem(NamedTuple):
    """A failure on the way to a server or back, before it has the server's name."""

    error_class: ErrorClass
    text: str
    """Continues "the MCP server NAME"."""
    code: str | None = None
    ref: str | None = None
    retry_after: float | None = None
    words: str = ""
    """The server's own words, truncated."""
    status: int | None = None
    step: Step = ""

    def failure(self, label: str) -> ExecutionFailed:
        """Builds the failure of a call."""
        return ExecutionFailed(
            self.error_class,
            f"the MCP server {label!r} {self.text}",
            code=self.code,
            retry_after=self.retry_after,
            native_error_ref=self.ref,
            output=words_output(self.words) if self.words else None,
        )


class UpstreamFailed(ExecutionFailed):
    """A failed request: by the network, by an HTTP status, or by a JSON-RPC error."""

    def __init__(self, problem: UpstreamProblem, label: str, rpc_code: int | None = None) -> None:
        made = problem.failure(label)
        super().__init__(
            made.error_class,
            made.message,
            code=made.code,
            retry_after=made.retry_after,
            native_error_ref=made.native_error_ref,
            output=made.output,
        )
        self.problem = problem
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


def problem_of_status(status: int, words: str = "", retry_after: float | None = None) -> UpstreamProblem:
    """Translates an HTTP status."""
    kind, text, code = _STATUS.get(status) or (_BROKEN if status >= 500 else _REFUSED)
    after = retry_after if status == 429 or status >= 500 else None
    return UpstreamProblem(
        kind, f"{text} (HTTP {status})", code, f"http:{status}", after, excerpt(words, _LONGEST_WORDS), status
    )


def problem_of_network(error: Exception) -> UpstreamProblem:
    """Translates an error of the network."""
    match error:
        case Forbidden():
            return UpstreamProblem("policy_blocked", f"may not be reached: {error}", "address_forbidden", step="before")
        case Unreachable():
            return UpstreamProblem("dependency_unavailable", f"is not there: {error}", "unreachable", "network:unreachable",
                          step="" if error.is_sent else "before")  # fmt: skip
        case TooLong():
            return UpstreamProblem("result_too_large", f"gave too much: {error}; ask for less", "too_long")
        case BadRequest():
            return UpstreamProblem("setup_required", f"cannot be asked: {error}", step="before")
        case BrokenAnswer():
            return UpstreamProblem("dependency_unavailable", f"broke off: {error}", "broken_answer", "network:broken")
        case _:
            return UpstreamProblem("dependency_unavailable", f"could not be talked to ({type(error).__name__})")


def problem_of_rpc(code: int, message: str) -> UpstreamProblem:
    """Translates a JSON-RPC error. It is never the tool's own failure, which comes as a result (AT-196)."""
    kind, text, short = _RPC.get(code, _OTHER)
    return UpstreamProblem(
        kind, f"{text} (JSON-RPC {code})", short, f"mcp:{code}", words=excerpt(message, _LONGEST_WORDS)
    )


def words_output(words: str) -> Output:
    """Puts a server's own words into an output, which only readers of results see."""
    return Output(content=({"type": "text", "text": excerpt(words, _LONGEST_WORDS)},))


def changed_tool_failure(label: str, tool_name: str, why: str, code: str = "upstream_changed") -> ExecutionFailed:
    """Builds the failure of a tool that differs from its accepted definition."""
    return ExecutionFailed(
        "policy_blocked",
        f"the tool {tool_name!r} of the MCP server {label!r} is not what was accepted: {why}. Nothing was sent; look at it"
        " with 'ferrule lock --show', and accept it with 'ferrule lock --accept'",
        code=code,
        is_retryable=False,
    )


def bad_answer(label: str, what: str, raw: object = None) -> ExecutionFailed:
    """Builds the failure for an answer that violates the protocol."""
    return ExecutionFailed(
        "execution_failed",
        f"the MCP server {label!r} gave an answer that MCP does not have: {what}",
        code="bad_answer",
        native_error_ref="mcp:bad_answer",
        output=None if raw is None else words_output(str(raw)),
    )
