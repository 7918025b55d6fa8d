"""Translates answers of OXP servers into outputs and failures; one table maps statuses to error classes.

A server's own words go into the output, which only readers of results see; `developer_message` goes only to the log
(OXP-34).
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.executor import EMPTY, ExecutionFailed, Output
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.network.client import Fetched
from ferrule.infra.network.retry_after import retry_after
from ferrule.model.failure import ErrorClass, excerpt
from ferrule.model.value import JsonObject

AUTHORIZATION_REQUIRED = "authorization_required"
_LONGEST_WORDS = 2_000
_LONGEST_WAIT = 24 * 3600.0
_log = logging.getLogger("ferrule.oxp")

_STATUS: dict[int, tuple[ErrorClass, str, str]] = {
    400: ("execution_failed", "refused the call before it began", "upstream_refused"),
    401: ("credential_missing", "does not accept the credentials; renew them, or mend where they come from",
          "credential_refused"),
    403: ("permission_denied", "says that this may not be done with these credentials", "upstream_denied"),
    404: ("execution_failed", "is not there: nothing answers under that path; mend the url", "endpoint_not_found"),
    405: ("execution_failed", "does not speak OXP under that path; mend the url", "endpoint_not_found"),
    413: ("invalid_arguments", "finds the call too long", "too_long"),
    422: ("invalid_arguments", "did not accept the arguments", "upstream_invalid"),
    429: ("rate_limited", "wants fewer requests", "upstream_busy"),
}  # fmt: skip
_OTHER: tuple[ErrorClass, str, str] = ("execution_failed", "gave an answer that OXP does not have", "bad_answer")
_BROKEN: tuple[ErrorClass, str, str] = ("dependency_unavailable", "is in trouble", "upstream_broken")


class CallFailure(NamedTuple):
    """A failed call as its server reports it, and whether to try again."""

    error: ExecutionFailed
    may_retry: bool = False
    """True when the server allows a retry (OXP-36)."""
    after_seconds: float | None = None
    is_pending: bool = False
    """True when the call is still running: sending it again with the same `call_id` returns its result."""


class _Error(msgspec.Struct):
    message: str
    developer_message: Any = None
    can_retry: Any = False
    additional_prompt_content: Any = None
    retry_after_ms: Any = None
    pending: Any = False


class _Response(msgspec.Struct):
    success: bool
    call_id: Any = None
    value: Any = msgspec.UNSET
    error: _Error | None = None


class _Envelope(msgspec.Struct):
    result: _Response


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_bare = msgspec.json.Decoder(_Response).decode


def read_answer(label: str, tool_id: str, fetched: Fetched, *, is_compat: bool) -> Output | CallFailure:
    """Reads a server's answer to a call. Raises ExecutionFailed for an invalid answer."""
    if fetched.status != 200:
        return refusal(label, fetched)
    response = _response(fetched.body, is_compat=is_compat)
    if response is None or (not response.success and response.error is None):
        raise bad_answer(label, "a response without what it has to say")
    is_empty = response.value is msgspec.UNSET or response.value is None
    if response.error is not None and (response.success or not is_empty):  # a null member counts as absent
        raise bad_answer(label, "a response that succeeded and failed at once")
    if response.success:
        return Output(EMPTY if is_empty else response.value)
    assert response.error is not None
    return _failure(label, tool_id, response.error)


def refusal(label: str, fetched: Fetched) -> CallFailure:
    """Translates a failing status."""
    status = fetched.status
    kind, text, code = _STATUS.get(status) or (_BROKEN if status >= 500 else _OTHER)
    body = read_json_object(fetched.body)
    _log_developer_message(label, body.get("developer_message"))
    missing = body.get("missing_requirements")
    if status == 400 and isinstance(missing, dict) and missing:
        return CallFailure(_missing_requirements(label, missing))
    words = "\n".join(filter(None, (_text(body.get("message")), *_parameter_errors(body))))
    error = ExecutionFailed(
        kind,
        f"{label} {text} (HTTP {status})",
        code=code,
        retry_after=retry_after(fetched.headers) if status == 429 or status >= 500 else None,
        native_error_ref=f"http:{status}",
        output=words_output(words) if words else None,
        is_retryable=False,
        is_untouched=400 <= status < 500,
    )
    return CallFailure(error, may_retry=status == 429 or status >= 500, after_seconds=error.retry_after)


def words_output(words: str) -> Output:
    """Puts a server's own words into an output, which only readers of results see."""
    return Output(content=({"type": "text", "text": excerpt(words, _LONGEST_WORDS)},))


def bad_answer(label: str, what: str) -> ExecutionFailed:
    """Builds the failure for an answer that violates the protocol."""
    return ExecutionFailed(
        "execution_failed",
        f"{label} gave an answer that OXP does not have: {what}",
        code="bad_answer",
        native_error_ref="oxp:bad_answer",
        is_retryable=False,
    )


def _response(body: bytes, *, is_compat: bool) -> _Response | None:
    try:
        return _decode(body).result
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _decode_bare(body) if is_compat else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _failure(label: str, tool_id: str, error: _Error) -> CallFailure:
    _log_developer_message(label, error.developer_message)
    after = _seconds(error.retry_after_ms)
    is_pending = error.pending is True and error.can_retry is True
    words = "\n".join(filter(None, (error.message, _text(error.additional_prompt_content))))
    failed = ExecutionFailed(
        "execution_failed",
        f"the tool {tool_id} of {label} " + ("has not ended there yet" if is_pending else "failed"),
        code="upstream_pending" if is_pending else "upstream_failed",
        retry_after=after,
        native_error_ref="oxp:error",
        output=words_output(words) if words else None,
        is_retryable=False,
    )
    return CallFailure(failed, error.can_retry is True, after, is_pending)


def _missing_requirements(label: str, missing: JsonObject) -> ExecutionFailed:
    """Builds the failure for missing requirements; challenges reach the caller as data (OXP-41)."""
    listed = missing.get("authorization")
    challenges = [
        {name: one[name] for name in ("id", "url", "check_url") if isinstance(one.get(name), str)}
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    ]
    requirements: JsonObject = {"authorization": challenges} if challenges else {}
    for name in ("tokens", "secrets"):
        if isinstance(ids := missing.get(name), list):
            requirements[name] = [one for one in ids if isinstance(one, str)]
    if missing.get("user_id"):
        requirements["user_id"] = True
    where = " ".join(one["url"] for one in challenges if "url" in one)
    message = f"{label} needs more for this call: {', '.join(requirements) or 'something it does not name'}"
    if where:
        message += f"; its user has to visit {where[:_LONGEST_WORDS]}"
    return ExecutionFailed(
        "credential_missing",
        message,
        code=AUTHORIZATION_REQUIRED if challenges else "upstream_requirements",
        native_error_ref="http:400",
        output=Output(value=requirements, content=({"type": "text", "text": message},)),
        is_retryable=False,
        is_untouched=True,
    )


def _parameter_errors(body: JsonObject) -> list[str]:
    errors = body.get("parameter_errors")
    return [f"{name}: {text}" for name, text in errors.items()][:20] if isinstance(errors, dict) else []


def _log_developer_message(label: str, words: object) -> None:
    if isinstance(words, str) and words:
        _log.info("%s says to its developers: %r", label, excerpt(words, _LONGEST_WORDS))


def _seconds(milliseconds: Any) -> float | None:
    if type(milliseconds) not in (int, float) or not milliseconds >= 0:
        return None
    return min(float(milliseconds) / 1000, _LONGEST_WAIT)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
