"""A hook outside the process: receives JSON; its answer is read strictly, so that a misspelt `stop` is a failure."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from ferrule.contracts.hook import HookConnection, HookEvent, HookFailed, HookInput, HookOutput
from ferrule.model.misfits import read_misfit

_decode = msgspec.json.Decoder(HookOutput).decode


def decode_answer(text: bytes) -> HookOutput:
    """Decodes an answer from JSON; `{}` means no answer. Raises HookFailed without repeating the text."""
    try:
        return _decode(text)
    except msgspec.ValidationError as error:
        raise HookFailed(f"its answer is not one: {_describe_misfit(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise HookFailed("its answer is no JSON; `{}` says that there is nothing to say") from None


def convert_answer(value: object) -> HookOutput | None:
    """Converts a function's answer: a `HookOutput`, the same as a dict, or None. Raises HookFailed."""
    if value is None or isinstance(value, HookOutput):
        return value
    try:
        return msgspec.convert(value, HookOutput)
    except msgspec.ValidationError as error:
        raise HookFailed(f"its answer is not one: {_describe_misfit(error)}") from None


def _describe_misfit(error: msgspec.ValidationError) -> str:
    """Describes what is invalid, by type and place, without the value that msgspec's message quotes."""
    misfit = read_misfit(error)
    if misfit.kind == "unknown_key":
        return "it has a field that no answer has"
    if misfit.kind == "choice":
        return f"one of its words is not known{f' - at `${misfit.place}`' if misfit.place else ''}"
    return str(error)


_SPARE_SECONDS = 1.0
"""Extra time before the pipeline's own timeout: the reach has the deadline and a better message."""
_encode = msgspec.json.Encoder().encode


class ExternalHook:
    """A hook that is asked through a reach."""

    takes_json = True

    def __init__(
        self,
        hook_id: str,
        event: HookEvent,
        reach: HookConnection,
        tools: Sequence[str] = ("*",),
        timeout_seconds: float = 5.0,
    ) -> None:
        self.hook_id = hook_id
        self.event = event
        self.matcher = {"tools": list(tools)}
        self.timeout_seconds = timeout_seconds + _SPARE_SECONDS
        self._reach = reach
        self._tools = tuple(tools)

    def matches(self, tool_id: str, tool_name: str) -> bool:
        """Returns True when one of its patterns matches the tool's id or name."""
        return matches_tool(self._tools, tool_id, tool_name)

    async def run(self, told: HookInput) -> HookOutput:
        """Asks the hook and decodes its answer. Raises HookFailed."""
        return decode_answer(await self._reach.ask(_encode(told)))

    async def aclose(self) -> None:
        """Closes the reach."""
        await self._reach.aclose()


def matches_tool(patterns: Sequence[str], tool_id: str, tool_name: str) -> bool:
    """Returns True when a pattern is the tool's id or name, or matches one of them with `*`."""
    for pattern in patterns:
        if pattern in ("*", tool_id, tool_name) or fnmatchcase(tool_id, pattern) or fnmatchcase(tool_name, pattern):
            return True
    return False
