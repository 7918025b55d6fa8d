"""The input of a waiting call: as it would run, as people may see it, and as an approver changed it.

Sensitive members are masked in what is shown, and kept encrypted beside it. Whoever edits sees masks and sends masks back;
a mask left in its place means "as it was".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from ferrule.approval.key import ApprovalKey
from ferrule.errors import InboxError
from ferrule.model.journal import Payload

Path: TypeAlias = tuple[str | None, ...]
"""Names of members from the top; None for any item of a list."""

Mask: TypeAlias = Callable[[bytes], bytes]
"""JSON in, the same with its sensitive members masked out."""
MASK = "[REDACTED]"

_decode_pair = msgspec.msgpack.Decoder(tuple[bytes, bytes]).decode


class Inputs(msgspec.Struct, frozen=True):
    """One state of a call's input."""

    model: bytes
    """What the model sent, JSON."""
    call: bytes
    """What would run, JSON."""
    shown: bytes
    """The same as people may see it."""
    is_sealed: bool = False
    """True when the tool has sensitive members, whether or not this input does."""

    @property
    def hidden(self) -> frozenset[Path]:
        """Where sensitive members are."""
        return _hidden(msgspec.json.decode(self.shown), msgspec.json.decode(self.call), ())

    @property
    def is_shown_truly(self) -> bool:
        """False when what is shown differs from what would run in more than its masks: somebody wrote the ledger."""
        masks = list(_masks(msgspec.json.decode(self.shown), msgspec.json.decode(self.call)))
        return all(isinstance(mask, str) and mask == masks[0] for mask in masks)


def parked_inputs(key: ApprovalKey, call: str, payload: Payload) -> Inputs:
    """The inputs of a parked call. Raises ValueError when they were changed or cannot be opened."""
    model = payload.model_input or b"null"
    shown = payload.call_input or payload.permission_input or payload.observable_input or model
    if payload.sealed_input is None:
        return Inputs(model, shown, shown)
    real_model, real = _opened(key, call, payload.sealed_input)
    return Inputs(real_model, real, shown, is_sealed=True)


def edited_inputs(key: ApprovalKey, call: str, before: Inputs, payload: Payload) -> Inputs:
    """The inputs after an edit, from the row that recorded it. Raises ValueError when they cannot be opened."""
    shown = payload.text or b"null"
    if payload.sealed_input is None:
        return Inputs(before.model, shown, shown)
    return Inputs(before.model, _opened(key, call, payload.sealed_input)[1], shown, is_sealed=True)


def edit(before: Inputs, edited: bytes, mask: Mask | None = None) -> Inputs:
    """The inputs with what an approver wrote: masks left in place mean the values behind them. Raises InboxError.

    `mask` is the tool's own; without it whatever was masked stays masked, and so is every member the edit adds.
    """
    value = _object(edited)
    shown, real = msgspec.json.decode(before.shown), msgspec.json.decode(before.call)
    whole = _restored(value, shown, real)
    stray = frozenset(_masks(shown, real))
    if stray and _contains(whole, stray):
        raise InboxError(
            "a masked value was moved in the edited input; leave it in its place, or write the value itself"
        )
    try:
        call = msgspec.json.encode(whole)
    except OverflowError:
        raise InboxError("the edited input has a number that no tool could take") from None
    if not before.is_sealed:
        return Inputs(before.model, call, call)
    visible = mask(call) if mask is not None else msgspec.json.encode(_masked(whole, real, before.hidden, ()))
    return Inputs(before.model, call, visible, is_sealed=True)


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InboxError(f"the edited input is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InboxError("the edited input must be a JSON object, like the input it replaces")
    return value


def edit_payload(key: ApprovalKey, call: str, after: Inputs) -> Payload:
    """How an edited input is stored: what people may see, and the rest encrypted, as in the row that parked the call."""
    if not after.is_sealed:
        return Payload(text=after.call)
    sealed = key.seal(call, msgspec.msgpack.encode((after.model, after.call)))
    return Payload(text=after.shown, sealed_input=sealed)


def _opened(key: ApprovalKey, call: str, sealed: bytes) -> tuple[bytes, bytes]:
    try:
        return _decode_pair(key.open(call, sealed))
    except msgspec.MsgspecError:
        raise ValueError(f"the sealed input of {call} is not a pair of inputs") from None


def _hidden(shown: Any, real: Any, path: Path) -> frozenset[Path]:
    pairs = _pairs(shown, real)
    if pairs is None:
        return frozenset() if shown == real else frozenset({path})
    return frozenset().union(*(_hidden(one, other, (*path, name)) for name, one, other in pairs))


def _masks(shown: Any, real: Any) -> list[Any]:
    """What is shown wherever it is not the real value."""
    pairs = _pairs(shown, real)
    if pairs is None:
        return [] if shown == real and type(shown) is type(real) else [_hashable(shown)]
    return [mask for _, one, other in pairs for mask in _masks(one, other)]


def _hashable(value: Any) -> Any:
    return None if isinstance(value, dict | list) else value


def _pairs(shown: Any, real: Any) -> list[tuple[str | None, Any, Any]] | None:
    """The members of two values of the same shape, side by side; None when they are no such values."""
    if isinstance(shown, dict) and isinstance(real, dict) and shown.keys() == real.keys():
        return [(name, shown[name], real[name]) for name in shown]
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        return [(None, one, other) for one, other in zip(shown, real, strict=True)]
    return None


def _restored(edited: Any, shown: Any, real: Any) -> Any:
    """The edited value with the real one wherever the shown one was left as it was."""
    if edited == shown and type(edited) is type(shown):
        return real
    if isinstance(edited, dict) and isinstance(shown, dict) and isinstance(real, dict):
        return {
            name: _restored(value, shown[name], real[name]) if name in shown and name in real else value
            for name, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list) and isinstance(real, list) and len(edited) == len(shown):
        return [_restored(*three) for three in zip(edited, shown, real, strict=True)]
    return edited


def _contains(value: Any, masks: frozenset[Any]) -> bool:
    if isinstance(value, dict):
        return any(_contains(member, masks) for member in value.values())
    if isinstance(value, list):
        return any(_contains(member, masks) for member in value)
    return value in masks


def _masked(value: Any, before: Any, hidden: frozenset[Path], path: Path) -> Any:
    """The value with masks where the one before had them, and over members that one did not have."""
    if path in hidden:
        return MASK
    if isinstance(value, dict):
        old = before if isinstance(before, dict) else {}
        return {
            name: _masked(member, old[name], hidden, (*path, name)) if name in old else MASK
            for name, member in value.items()
        }
    if isinstance(value, list):
        old_item = before[0] if isinstance(before, list) and before else None
        return [_masked(member, old_item, hidden, (*path, None)) for member in value]
    return value
