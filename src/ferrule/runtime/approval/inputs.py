"""The input of a waiting call: as it would run, as people may see it, and as an approver edited it.

Sensitive members and known secrets are masked for people, and kept encrypted beside it. An editor sees masks and
sends masks back; a mask left in its place means "as it was".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from ferrule.errors import InboxError
from ferrule.model.journal import Payload
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.key import ApprovalKey

Path: TypeAlias = tuple[str | None, ...]
"""Names of members from the top; None for any item of a list."""

Mask: TypeAlias = Callable[[bytes], bytes]
"""JSON in, the same with its sensitive members masked out."""
MASK = "[REDACTED]"

_NUMBERED = re.compile(re.escape(MASK) + r"(?: \d+)?\Z")
"""A masked name; of several alike all but the first have a number."""
_decode_pair = msgspec.msgpack.Decoder(tuple[bytes, bytes]).decode


class WaitingInput(msgspec.Struct, frozen=True):
    """One state of a call's input."""

    model: bytes
    """The model's input, JSON."""
    call: bytes
    """The input that would run, JSON."""
    shown: bytes
    """The same as people may see it."""
    is_sealed: bool = False
    """True when the tool has sensitive members, whether or not this input does, or something else in it is hidden."""

    @property
    def hidden_paths(self) -> frozenset[Path]:
        """Finds the paths of sensitive members."""
        return _find_hidden_paths(msgspec.json.decode(self.shown), msgspec.json.decode(self.call), ())

    @property
    def is_shown_faithfully(self) -> bool:
        """False when the shown input differs from the real one in more than its masks: the ledger was changed."""
        return _is_faithful(msgspec.json.decode(self.shown), msgspec.json.decode(self.call))


def open_parked_inputs(key: ApprovalKey, call: str, payload: Payload) -> WaitingInput:
    """Opens the inputs of a parked call. Raises ValueError when they were changed or cannot be opened."""
    model = payload.model_input or b"null"
    shown = payload.call_input or payload.permission_input or payload.observable_input or model
    if payload.sealed_input is None:
        return WaitingInput(model, shown, shown)
    real_model, real = _open_pair(key, call, payload.sealed_input)
    return WaitingInput(real_model, real, shown, is_sealed=True)


def open_edited_inputs(key: ApprovalKey, call: str, before: WaitingInput, payload: Payload) -> WaitingInput:
    """Opens the inputs after an edit, from the row that recorded it. Raises ValueError when they cannot be opened."""
    shown = payload.text or b"null"
    if payload.sealed_input is None:
        return WaitingInput(before.model, shown, shown)
    return WaitingInput(before.model, _open_pair(key, call, payload.sealed_input)[1], shown, is_sealed=True)


def apply_edit(before: WaitingInput, edited: bytes, mask: Mask | None = None) -> WaitingInput:
    """Applies an approver's edit: masks left in place mean the values behind them. Raises InboxError.

    `mask` is the tool's own; without it whatever was masked stays masked, and so is every member the edit adds.
    """
    value = _decode_object(edited)
    shown, real = msgspec.json.decode(before.shown), msgspec.json.decode(before.call)
    whole = _restore(value, shown, real)
    # A mask outside its place stands for no value; running with the literal mask would be worse than an error.
    if shown != real and _has_strays(whole, frozenset(_find_texts(real))):
        raise InboxError(
            "a masked value was moved in the edited input; leave it in its place, or write the value itself"
        )
    try:
        call = msgspec.json.encode(whole)
    except OverflowError:
        raise InboxError("the edited input has a number that no tool could take") from None
    if not before.is_sealed:
        return WaitingInput(before.model, call, call)
    visible = mask(call) if mask is not None else msgspec.json.encode(_mask_edit(whole, real, before.hidden_paths, ()))
    return WaitingInput(before.model, call, visible, is_sealed=True)


def _decode_object(text: bytes) -> JsonObject:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InboxError(f"the edited input is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InboxError("the edited input must be a JSON object, like the input it replaces")
    return value


def make_edit_payload(key: ApprovalKey, call: str, after: WaitingInput) -> Payload:
    """Makes the stored form of an edited input: the masked text, and the rest encrypted, as in the row that parked
    the call."""
    if not after.is_sealed:
        return Payload(text=after.call)
    sealed = key.seal(call, msgspec.msgpack.encode((after.model, after.call)))
    return Payload(text=after.shown, sealed_input=sealed)


def make_answer_payload(key: ApprovalKey, call: str, given: bytes, shown: bytes) -> Payload:
    """Makes the stored form of an answer to a tool: encrypted where people may not see all of it."""
    if shown == given:
        return Payload(text=given)
    return Payload(text=shown, sealed_input=key.seal(call, msgspec.msgpack.encode((b"null", given))))


def list_hidden_values(inputs: WaitingInput) -> frozenset[str]:
    """Lists the texts and numbers of an input that people see as masks."""
    if not inputs.is_sealed:
        return frozenset()
    return frozenset(_find_masked_values(msgspec.json.decode(inputs.shown), msgspec.json.decode(inputs.call)))


def _find_masked_values(shown: object, real: object) -> Iterator[str]:
    pairs = _pair_members(shown, real)
    if pairs is not None:
        for _, one, other in pairs:
            yield from _find_masked_values(one, other)
    elif shown == MASK:
        yield from _find_scalars(real)


def _find_scalars(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _find_scalars(member)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and value != MASK:
        yield str(value)


def _open_pair(key: ApprovalKey, call: str, sealed: bytes) -> tuple[bytes, bytes]:
    try:
        return _decode_pair(key.open(call, sealed))
    except msgspec.MsgspecError:
        raise ValueError(f"the sealed input of {call} is not a pair of inputs") from None


def _find_hidden_paths(shown: object, real: object, path: Path) -> frozenset[Path]:
    pairs = _pair_members(shown, real)
    if pairs is None:
        return frozenset() if shown == real else frozenset({path})
    return frozenset().union(*(_find_hidden_paths(one, other, (*path, name)) for name, one, other in pairs))


def _is_faithful(shown: object, real: object) -> bool:
    """Returns True when the shown value is the real one, but for masks: whole values, or pieces of a text."""
    pairs = _pair_members(shown, real)
    if pairs is not None:
        return all(_is_faithful(one, other) for _, one, other in pairs)
    if not isinstance(shown, str) or shown == MASK:
        return shown == MASK or (shown == real and type(shown) is type(real))
    return isinstance(real, str) and _is_masked(shown, real)


def _is_masked(shown: str, real: str) -> bool:
    """Returns True when a text is the other one, with masks in place of some of its pieces."""
    first, *pieces = shown.split(MASK)
    if not pieces:
        return shown == real
    if not real.startswith(first):
        return False
    at = len(first)
    # The leftmost place leaves the most room for the pieces after it.
    for piece in pieces[:-1]:
        found = real.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return real.endswith(pieces[-1]) and len(real) - len(pieces[-1]) >= at


def _pair_members(shown: object, real: object) -> list[tuple[str | None, Any, Any]] | None:
    """Pairs the members of two values of the same shape; None when their shapes differ."""
    if isinstance(shown, dict) and isinstance(real, dict) and len(shown) == len(real):
        if shown.keys() == real.keys():
            return [(name, shown[name], real[name]) for name in real]
        # Member names can be masked too; the order of members then pairs them.
        if all(_is_masked(_NUMBERED.sub(MASK, one), other) for one, other in zip(shown, real, strict=True)):
            return [(name, shown[one], real[name]) for one, name in zip(shown, real, strict=True)]
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        return [(None, one, other) for one, other in zip(shown, real, strict=True)]
    return None


def _restore(edited: object, shown: object, real: object) -> object:
    """Returns the edited value with the real one wherever the shown one was left as it was."""
    # With the type, because `1 == True` in Python.
    if edited == shown and type(edited) is type(shown):
        return real
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(real, dict):
        return {
            name: _restore(value, shown[name], real[name]) if name in shown and name in real else value
            for name, value in edited.items()
        }
    # In a list of another length nobody can tell which item is which; masks in it are then refused as strays.
    if isinstance(edited, list) and isinstance(shown, list) and isinstance(real, list) and len(edited) == len(shown):
        return [_restore(*three) for three in zip(edited, shown, real, strict=True)]
    return edited


def _has_strays(value: object, real: frozenset[str]) -> bool:
    """Returns True when a mask would be sent as a value: moved, or in a text that was changed around it."""
    return any(MASK in text and text not in real for text in _find_texts(value))


def _find_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for member in value:
            yield from _find_texts(member)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _find_texts(member)


def _mask_edit(value: object, before: object, hidden: frozenset[Path], path: Path) -> object:
    """Masks the value where the one before had masks, and over members that one did not have."""
    if path in hidden:
        return MASK
    if isinstance(value, dict):
        old = before if isinstance(before, dict) else {}
        return {
            name: _mask_edit(member, old[name], hidden, (*path, name)) if name in old else MASK
            for name, member in value.items()
        }
    if isinstance(value, list):
        old_item = before[0] if isinstance(before, list) and before else None
        return [_mask_edit(member, old_item, hidden, (*path, None)) for member in value]
    return value
