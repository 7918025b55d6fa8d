"""What the answers of Ferrule mean: the value of a call, its error, how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import (
    BY_CLASS,
    CallError,
    PendingError,
    RequestRefusedError,
    TransportError,
)
from .http import Answer
from .json_text import DecodeError, parsed
from .shapes import Codec

T = TypeVar("T")
State = dict[str, Any]
"""How a call stands, as the server tells it."""
_COME_BACK = (429, 503)


@dataclass(frozen=True)
class Progress:
    """How far a call is."""

    message: str
    percent: float | None
    current_step: str
    total_steps: int | None
    details: Mapping[str, Any]
    """All that the server told."""


async def told(answer: Answer) -> State:
    """What the server says. Raises CallError for a request that it refused."""
    said = object_of(await answer.read())
    if answer.status >= 400 and "result" not in said:
        raise _refusal(answer, said)
    return {**said, "http_status": answer.status}


def _refusal(answer: Answer, said: State) -> CallError:
    message = str(said.get("detail") or said.get("title") or answer.status)
    after = answer.headers.get("retry-after", "")
    details = {
        **said,
        **({"retry_after": float(after)} if after.isdigit() else {}),
        "retry": {"retry_safe": answer.status in _COME_BACK},
        "recoverability": "retry_later" if answer.status in _COME_BACK else "",
    }
    code = str(said.get("code", ""))
    return RequestRefusedError(
        message, code=code, status=answer.status, details=details
    )


def has_ended(state: State) -> bool:
    """Whether there is a result, good or bad."""
    return isinstance(state.get("result"), dict)


def plain_value(state: State) -> Any:
    """The value of a call whose tool says nothing of its result. Raises CallError for
    a call that did not end well."""
    return _value(_result(state), None)


def typed_value(state: State, output: Codec[T]) -> T:
    """The value of a call, read by the tool's output. Raises CallError for a call that
    did not end well."""
    value = _value(_result(state), output)
    try:
        return output.checked(value)
    except DecodeError as error:
        told = f"the result does not fit what the tool says it gives: {error}"
        raise TransportError(told, details={"result": value}) from error


def _result(state: State) -> dict[str, Any]:
    identity = str(state.get("invocation_id", ""))
    result = state.get("result")
    if not isinstance(result, dict):
        message = str(state.get("message") or "the call has not ended")
        where = str(state.get("state", ""))
        raise PendingError(message, state=where, invocation_id=identity, details=state)
    if result.get("is_error"):
        raise _error(result, identity, state)
    return result


def _value(result: dict[str, Any], output: Codec[Any] | None) -> Any:
    """A value that was neither text nor null is there as such. A text stays a text,
    unless the output takes only what it says as JSON."""
    if result.get("structured_content") is not None:
        return result["structured_content"]
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    known: list[Any] = [block for block in blocks if isinstance(block, dict)]
    if len(known) == 1 and known[0].get("empty") is True:
        return None
    texts = [block["text"] for block in known if isinstance(block.get("text"), str)]
    if blocks and not texts:
        return blocks
    return _read("\n".join(texts), output)


def _read(text: str, output: Codec[Any] | None) -> Any:
    if output is None or output.accepts(text):
        return text
    try:
        value = parsed(text)
    except DecodeError:
        return text
    return value if output.accepts(value) else text


def _error(result: dict[str, Any], identity: str, state: State) -> CallError:
    said = result.get("error")
    error: dict[str, Any] = said if isinstance(said, dict) else {}
    kind = BY_CLASS.get(str(error.get("error_class", "")), CallError)
    status = state.get("http_status", 200)
    return kind(
        str(error.get("message") or "the call failed"),
        code=str(error.get("error_code", "")),
        invocation_id=identity or str(result.get("invocation_id", "")),
        status=status if isinstance(status, int) else 0,
        details=error,
    )


def object_of(data: bytes | str) -> dict[str, Any]:
    """An object of JSON. Raises TransportError."""
    try:
        value = parsed(data)
    except DecodeError as error:
        raise TransportError(f"the server did not answer in JSON: {error}") from error
    if not isinstance(value, dict):
        raise TransportError("the server did not answer with an object")
    return value


def progress_of(data: dict[str, Any]) -> Progress:
    """What an event says about how far a call is."""
    percent, steps = data.get("percent"), data.get("total_steps")
    return Progress(
        message=str(data.get("message") or ""),
        percent=float(percent) if isinstance(percent, int | float) else None,
        current_step=str(data.get("current_step") or ""),
        total_steps=steps if isinstance(steps, int) else None,
        details=data,
    )
