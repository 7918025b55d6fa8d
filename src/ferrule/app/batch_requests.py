"""The calls of a batch as a caller states them: read, checked, and ordered by what they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ferrule.errors import BatchError
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import NO_OPTIONS, RunOptions


class CallRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a batch."""

    name: str
    arguments: Any = {}
    id: str = ""
    """Other calls of the batch refer to it by this; without one, by its number, counted from 0."""
    depends_on: tuple[str | int, ...] = ()
    """The calls that must end before this one begins."""
    idempotency_key: str | None = None
    timeout_seconds: float | None = None
    native_call_id: str | None = None
    retry_of: str | None = None
    priority: int = 0
    client: frozenset[str] = frozenset()
    """The capabilities of the calling client."""
    trace_id: str | None = None


CallSpec = CallRequest | Mapping[str, Any] | tuple[str, Any] | str


def read_requests(calls: Iterable[CallSpec]) -> list[CallRequest]:
    """Reads the calls of a batch: records, mappings, `(name, arguments)` pairs or names. Raises BatchError."""
    if isinstance(calls, str | bytes | Mapping):
        raise BatchError("a batch is a list of calls; put a single call into a list")
    found = []
    for number, given in enumerate(calls):
        try:
            match given:
                case CallRequest():
                    found.append(given)
                case str():
                    found.append(CallRequest(name=given))
                case (str(name), arguments):
                    found.append(CallRequest(name=name, arguments=arguments))
                case Mapping():
                    found.append(msgspec.convert(dict(given), CallRequest))
                case _:
                    raise BatchError(
                        f"call {number} of the batch is neither a mapping nor (name, arguments): {given!r}"
                    )
        except (msgspec.ValidationError, TypeError) as error:
            raise BatchError(f"call {number} of the batch cannot be used: {error}") from None
    return found


def make_request(name: str, arguments: Any, options: Mapping[str, Any]) -> CallRequest:
    """Makes the record of one call. Raises BatchError for an unknown option."""
    try:
        return CallRequest(name=name, arguments=arguments, **options)
    except TypeError as error:
        raise BatchError(f"the call of {name!r} cannot be used: {error}") from None


def make_options(request: CallRequest) -> RunOptions:
    if (
        request.idempotency_key is None
        and request.timeout_seconds is None
        and request.native_call_id is None
        and request.retry_of is None
        and not request.priority
        and not request.client
        and request.trace_id is None
    ):
        return NO_OPTIONS
    return RunOptions(
        idempotency_key=request.idempotency_key,
        timeout_seconds=request.timeout_seconds,
        native_call_id=request.native_call_id,
        retry_of=request.retry_of,
        priority=request.priority,
        client=request.client,
        trace_id=request.trace_id,
    )


def encode_arguments(arguments: Any) -> bytes | Stop:
    try:
        return arguments if type(arguments) is bytes else msgspec.json.encode({} if arguments is None else arguments)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return Stop("schema_validation_failed", f"the arguments cannot be written as JSON: {error}", "invalid_json")


def find_dependencies(requests: Sequence[CallRequest]) -> list[tuple[int, ...]]:
    """Returns the numbers of the calls each call depends on. Raises BatchError for unknown names, and for cycles."""
    if not any(request.id or request.depends_on for request in requests):
        return [()] * len(requests)
    names = {request.id or str(number): number for number, request in enumerate(requests)}
    if len(names) != len(requests):
        raise BatchError("two calls of the batch have the same id; give each its own")
    needs: list[tuple[int, ...]] = []
    for number, request in enumerate(requests):
        found = []
        for word in request.depends_on:
            place = names.get(str(word))
            if place is None or place == number:
                raise BatchError(f"call {number} of the batch depends on {word!r}, which is no other call of it")
            found.append(place)
        needs.append(tuple(dict.fromkeys(found)))
    _refuse_cycles(needs)
    return needs


def _refuse_cycles(needs: Sequence[tuple[int, ...]]) -> None:
    left = {number: set(some) for number, some in enumerate(needs)}
    while left:
        free = [number for number, some in left.items() if not some]
        if not free:
            circle = ", ".join(map(str, sorted(left)))
            raise BatchError(f"calls {circle} of the batch depend on one another in a circle; none of them could begin")
        for number in free:
            del left[number]
        for some in left.values():
            some.difference_update(free)
