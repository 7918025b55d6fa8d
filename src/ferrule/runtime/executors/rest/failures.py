"""Translates failing answers: one table from statuses to error classes, and their messages for a model (AML-36).

Also the one table of network errors. The executor raises what is built here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.infra.network.client import Response
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.retry_after import retry_after
from ferrule.model.failure import ErrorClass, excerpt
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.definition import ErrorCode
from ferrule.runtime.executors.rest.answers import answer_too_long, broken_answer, content_type_of, decode_text

CLASSES: dict[int, ErrorClass] = {
    400: "invalid_arguments",
    401: "credential_missing",
    403: "permission_denied",
    407: "permission_denied",
    408: "timeout",
    413: "invalid_arguments",
    414: "invalid_arguments",
    422: "invalid_arguments",
    425: "dependency_unavailable",
    429: "rate_limited",
    431: "invalid_arguments",
}
"""Error classes by status. All others: 5xx is `dependency_unavailable`, the rest `execution_failed`."""
CODES = {401: "credential_refused", 403: "upstream_denied", 407: "upstream_denied"}
_ADVICE = {
    401: "its credentials were not accepted; whoever runs this has to renew them",
    403: "its credentials may not do this",
    429: "it wants fewer calls",
}
_MOST_READ = 64 * 1024
_MOST_SHOWN = 2_000


def class_of(status: int) -> ErrorClass:
    """Returns the error class of a failing status."""
    return CLASSES.get(status) or ("dependency_unavailable" if status >= 500 else "execution_failed")


def status_failure(
    tool_id: str,
    host: str,
    status: int,
    headers: Mapping[str, str],
    codes: Mapping[str, ErrorCode],
    now: Callable[[], float],
    words: str = "",
) -> ExecutionFailed:
    """Builds the failure of an answer with a failing status. `words`: the beginning of its body."""
    message = f"tool {tool_id!r} failed: {host} answered {status}{_phrase(status)}"
    known = codes.get(str(status))
    if known is not None:
        message += f". {known}"
    elif status in _ADVICE:
        message += f"; {_ADVICE[status]}"
    output = None
    if words:
        shown = ({"type": "text", "text": message}, {"type": "text", "text": f"{host} wrote:\n{words}"})
        output = Output(content=shown)
    return ExecutionFailed(
        class_of(status),
        message,
        code=CODES.get(status, f"http_{status}"),
        retry_after=retry_after(headers, now),
        native_error_ref=f"http:{status}",
        output=output,
    )


async def read_words(response: Response) -> str:
    """Reads the beginning of a failing answer's body; empty when it is not text, or cannot be read."""
    kind = content_type_of(response.headers.get("content-type", ""))
    if response.status == 401 or kind.kind == "binary":
        response.close()
        return ""
    body = bytearray()
    try:
        async for piece in response.pieces():
            body += piece
            if len(body) > _MOST_READ:
                break
    except (BrokenAnswer, TooLong):
        pass
    finally:
        response.close()
    text = decode_text(bytes(body[: 4 * _MOST_SHOWN]), kind.charset).strip()
    return text if len(text) <= _MOST_SHOWN else f"{excerpt(text, _MOST_SHOWN)} (cut off)"


def network_failure(tool_id: str, host: str, error: Exception, context: Context, most: int) -> ExecutionFailed:
    """Translates an error of the network: the one table from exception types to error classes."""
    match error:
        case Forbidden():
            message = f"tool {tool_id!r} was stopped: {error}"
            return _network_failure("policy_blocked", message, "address_forbidden", "forbidden")
        case Unreachable():
            sent = "; whether it did anything is not known" if error.is_sent else ""
            message = f"tool {tool_id!r} failed: {error}{sent}"
            failed = _network_failure("dependency_unavailable", message, "unreachable", "unreachable")
            failed.is_untouched = not error.is_sent
            return failed
        case BrokenAnswer():
            return broken_answer(host, error)
        case TooLong():
            return answer_too_long(host, most)
        case BadRequest():
            return _network_failure(
                "invalid_arguments", f"tool {tool_id!r} cannot be called like this: {error}", None, "bad_request"
            )
        case TimeoutError():
            return _network_failure(
                "timeout", f"tool {tool_id!r} failed: {host} did not answer in time", None, "timeout"
            )
    return _network_failure(
        "dependency_unavailable", f"tool {tool_id!r} failed: {host} broke off", "unreachable", "unreachable"
    )


def _network_failure(error_class: ErrorClass, message: str, code: str | None, ref: str) -> ExecutionFailed:
    return ExecutionFailed(error_class, message, code=code, native_error_ref=f"http:{ref}")


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def request_ids(headers: Mapping[str, str]) -> JsonObject:
    """Returns the upstream's ids of the request, for the record (AT-258, AT-259)."""
    if _REQUEST_IDS.keys().isdisjoint(headers):
        return {}
    found = {key: excerpt(headers[name], 200) for name, key in _REQUEST_IDS.items() if name in headers}
    ids = [value for key, value in found.items() if key != "traceparent"]
    return {"request_id": ids[0], **found} if ids else found


_REQUEST_IDS = {
    name: name.replace("-", "_")
    for name in (
        "x-request-id",
        "request-id",
        "x-correlation-id",
        "x-amzn-requestid",
        "x-amz-request-id",
        "x-ms-request-id",
        "x-github-request-id",
        "x-goog-request-id",
        "x-trace-id",
        "cf-ray",
        "traceparent",
    )
}
