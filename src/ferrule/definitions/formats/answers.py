"""What a model answers, in each provider's own shape: which tool it means, and with what arguments.

A name that had to be changed leads back to its tool, and arguments of a schema that was rewritten are turned back into what
the tool takes (AT-261).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.functions import FunctionList
from ferrule.definitions.formats.offer import Offer, Offered
from ferrule.errors import FerruleError
from ferrule.model.tool import Tool
from ferrule.model.value import is_deeper

_DEEPEST = 100
"""How deep arguments may be nested; no tool is called with deeper ones."""


class UnreadableCall(FerruleError):
    """A model's call that leads to no tool, or whose arguments are no object."""


class Called(NamedTuple):
    """A call that a model asks for."""

    tool_id: str
    arguments: dict[str, Any]
    call_id: str = ""
    """What the provider calls it; the answer is sent back under it. Empty where a provider gives none."""


class Answers:
    """Reads the calls of a model that was offered some tools."""

    def __init__(self, format_name: str, tools: Sequence[Tool], options: WriteOptions) -> None:
        """`tools`, `options`: as they were given to `write`."""
        self._format = _function_list(format_name)
        self._offer: Offer = self._format.offer(tools, options)
        self._by_name = {each.name: each for each in self._offer.tools}
        self._by_id = {each.tool.tool_id: each for each in self._offer.tools}

    def decode(self, call: dict[str, Any]) -> Called:
        """The tool and the arguments of one call. Raises UnreadableCall, with words the model understands."""
        name, given, call_id = parts_of(call)
        each = self._by_name.get(name)
        if each is None:
            raise UnreadableCall(f"there is no tool called {name[:80]!r}; use one of those that are listed")
        return Called(each.tool.tool_id, each.arguments(_arguments(each, given)), call_id)

    def name_of(self, tool_id: str) -> str | None:
        """The name that the model knows a tool by; None for one it was not offered."""
        each = self._by_id.get(tool_id)
        return None if each is None else each.name


def decode_call(
    format_name: str,
    call: dict[str, Any],
    tools: Sequence[Tool],
    options: WriteOptions = WriteOptions(),  # noqa: B008  # frozen
) -> Called:
    """The tool and the arguments of one call; for many calls, keep an `Answers`. Raises UnreadableCall."""
    return Answers(format_name, tools, options).decode(call)


def parts_of(call: dict[str, Any]) -> tuple[str, Any, str]:
    """Name, arguments and id of a call in any provider's shape. Raises UnreadableCall."""
    for wrapper in ("functionCall", "function_call", "toolUse"):
        if isinstance(call.get(wrapper), dict):
            call = call[wrapper]
    inner = call.get("function")
    said = inner if isinstance(inner, dict) else call
    name = said.get("name")
    if not isinstance(name, str):
        raise UnreadableCall("the call names no tool")
    given = next((said[key] for key in ("arguments", "args", "input") if key in said), None)
    call_id = next((call[key] for key in ("call_id", "toolUseId", "id") if isinstance(call.get(key), str)), "")
    return name, given, call_id


def _arguments(each: Offered, given: Any) -> dict[str, Any]:
    """The arguments as an object: they come as one, or as its JSON; nothing at all is none."""
    if isinstance(given, str | bytes):
        try:
            text = given.encode() if isinstance(given, str) else given
            if is_deeper(text, _DEEPEST):
                raise UnreadableCall(f"the arguments of {each.name!r} are nested too deeply")
            given = msgspec.json.decode(text) if text.strip() else {}
        except (msgspec.DecodeError, UnicodeError) as error:
            raise UnreadableCall(f"the arguments of {each.name!r} are no JSON: {error}") from None
        except RecursionError:  # whoever calls has used up the stack
            raise UnreadableCall(f"the arguments of {each.name!r} are nested too deeply") from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UnreadableCall(f"the arguments of {each.name!r} must be an object")
    return given


def _function_list(format_name: str) -> FunctionList:
    found = FORMATS.get(format_name)
    if not isinstance(found, FunctionList):
        raise UnreadableCall(f"{found.title} is no provider of models")
    return found
