"""Sends one request to a cloud's HTTP interface, and translates failures and failing statuses for the call.

Identities of the clouds, secret stores and executors stand above; `infra/network/client.py` below.
"""

from __future__ import annotations

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.infra.network.client import DEFAULT_BYTES, Client, Fetched, Headers
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.retry_after import retry_after
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject

Meaning = tuple[ErrorClass, str | None]
"""An error class, and our code where it has one."""
REFUSED: Meaning = ("credential_missing", "credential_refused")
_BY_STATUS: dict[int, Meaning] = {
    400: ("invalid_arguments", None),
    401: REFUSED,
    403: ("permission_denied", "upstream_denied"),
    408: ("timeout", None),
    409: ("execution_failed", None),
    413: ("invalid_arguments", None),
    422: ("invalid_arguments", None),
    429: ("rate_limited", None),
}
_BY_KIND: tuple[tuple[type[Exception], tuple[ErrorClass, str | None, str]], ...] = (
    (Forbidden, ("policy_blocked", "address_forbidden", "")),
    (BadUrl, ("setup_required", "address_unreadable", "the address cannot be used: ")),
    (BadRequest, ("setup_required", "request_unwritable", "")),
    (Unreachable, ("dependency_unavailable", "unreachable", "")),
    (BrokenAnswer, ("dependency_unavailable", "broken_answer", "the answer is no HTTP: ")),
    (TooLong, ("result_too_large", "too_long", "")),
    (TimeoutError, ("timeout", None, "no answer in time")),
)


async def reach(
    client: Client,
    what: str,
    method: str,
    url: str,
    headers: Headers = (),
    body: bytes = b"",
    *,
    timeout_seconds: float = 30.0,
    listed_only: bool = False,
    max_bytes: int = DEFAULT_BYTES,
) -> Fetched:
    """Returns the whole answer, whatever its status. `what` opens the messages. Raises ExecutionFailed when there is
    none."""
    try:
        return await client.fetch(
            method,
            parse_url(url),
            headers,
            body,
            max_bytes=max_bytes,
            timeout_seconds=timeout_seconds,
            listed_only=listed_only,
        )
    except (Forbidden, BadUrl, BadRequest, Unreachable, BrokenAnswer, TooLong, TimeoutError) as error:
        raise translate_failure(what, error) from None


def translate_failure(what: str, error: Exception) -> ExecutionFailed:
    """Translates a network failure, by its type."""
    for kind, (error_class, code, said) in _BY_KIND:
        if isinstance(error, kind):
            detail = said if isinstance(error, TimeoutError) else f"{said}{error}"
            return ExecutionFailed(error_class, f"{what}: {detail}", code=code)
    return ExecutionFailed("dependency_unavailable", f"{what}: {type(error).__name__}")


def classify_status(status: int) -> Meaning:
    """Returns the error class of a failing status when nothing more precise is known."""
    if status >= 500:
        return "dependency_unavailable", None
    return _BY_STATUS.get(status, ("execution_failed", None))


def status_failure(
    message: str, fetched: Fetched, *, meaning: Meaning | None = None, reference: str = "", output: Output | None = None
) -> ExecutionFailed:
    """Makes the failure of a call from a failing answer. `meaning` and `reference`: where more is known than the
    status."""
    error_class, code = meaning or classify_status(fetched.status)
    return ExecutionFailed(
        error_class,
        message,
        code=code,
        retry_after=retry_after(fetched.headers),
        native_error_ref=reference or f"http:{fetched.status}",
        output=output,
    )


def bearer_headers(token: str) -> list[tuple[str, str]]:
    """Returns the headers of a request with a token that expects JSON."""
    return [("Authorization", f"Bearer {token}"), ("Accept", "application/json")]


def read_json_object(body: bytes) -> JsonObject:
    """Returns the JSON object of an answer; empty when it holds none."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
