"""A hook's answer from JSON or plain values: strictly, so that a misspelt `stop` is a failure and not a silent yes."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.hook import HookFailed, HookOutput

_decode = msgspec.json.Decoder(HookOutput).decode


def answer_of(text: bytes) -> HookOutput:
    """The answer that JSON holds; `{}` says nothing. Raises HookFailed without a word of the text."""
    try:
        return _decode(text)
    except msgspec.ValidationError as error:
        raise HookFailed(f"its answer is not one: {_told(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise HookFailed("its answer is no JSON; `{}` says that there is nothing to say") from None


def answer_from(value: Any) -> HookOutput | None:
    """The answer a function gave: a `HookOutput`, the same as a dict, or None. Raises HookFailed."""
    if value is None or isinstance(value, HookOutput):
        return value
    try:
        return msgspec.convert(value, HookOutput)
    except msgspec.ValidationError as error:
        raise HookFailed(f"its answer is not one: {_told(error)}") from None


def _told(error: msgspec.ValidationError) -> str:
    """What is wrong, by type and place. A value that a message quotes is left out."""
    message = str(error)
    if message.startswith("Object contains unknown field"):
        return "it has a field that no answer has"
    if message.startswith("Invalid enum value"):
        return f"one of its words is not known{message[message.rfind(' - at') :] if ' - at' in message else ''}"
    return message
