"""Decodes a model's answer to a fitted schema into the tool's own arguments, by the steps alone; and encodes arguments
as an answer.

Models do not always follow a schema: they send JSON in a text where an object was requested, an object where pairs
were, a property by its own name. Decoding accepts an answer that has one meaning only, and leaves any other for the
tool's own schema to reject with a message about it. Encoding serves examples, and proves that decoding is right.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.keywords import type_of
from ferrule.schema.fitting.steps import (
    KEEP,
    KEY,
    VALUE,
    FittedShape,
    Items,
    JsonText,
    Members,
    Option,
    Pairs,
    Same,
    Step,
    UnionChoice,
    Wrapped,
)
from ferrule.schema.merging import key_of
from ferrule.schema.validation.validators import compile_schema

_DEEPEST = 150


def decode(steps: tuple[Step, ...], arguments: object) -> object:
    """Decodes the arguments as the tool takes them. Never raises."""
    if isinstance(arguments, bytes | str):
        arguments = _parse_json(arguments) if arguments.strip() else {}
    if arguments is None:
        arguments = {}
    return _decode_value(steps, 0, arguments, 0) if steps else arguments


def _decode_value(steps: tuple[Step, ...], number: int, value: object, depth: int) -> object:
    if number == KEEP or depth > _DEEPEST:
        return value
    match steps[number]:
        case JsonText():
            return _parse_json(value) if isinstance(value, str) else value
        case Members() as step:
            value = _parse_as(value, dict)
            return _decode_members(steps, step, value, depth) if isinstance(value, dict) else value
        case Items() as step:
            value = _parse_as(value, list)
            return _decode_items(steps, step, value, depth) if isinstance(value, list) else value
        case Pairs() as step:
            return _decode_pairs(steps, step.step, value, depth)
        case Wrapped() as step:
            # An object with other members is the inner value itself, sent without its wrapper.
            inner = value[step.name] if isinstance(value, dict) and step.name in value and len(value) == 1 else value
            return _decode_value(steps, step.step, inner, depth + 1)
        case UnionChoice() as step:
            return _decode_choice(steps, step, value, depth)
        case Same():
            return value


def _decode_members(steps: tuple[Step, ...], step: Members, value: JsonObject, depth: int) -> JsonObject:
    by_name = {member.name: member for member in step.members}
    by_own = {member.was: member for member in step.members if member.was is not None}
    changed = {member.name for member in by_own.values()} if step.is_open else set()
    found: JsonObject = {}
    more: Any = None
    for name, given in value.items():
        member = by_name.get(name) or by_own.get(name)
        if member is not None:
            own = name if member.was is None else member.was
            if not (given is None and member.is_absent_null):
                found[own] = _decode_value(steps, member.step, given, depth + 1)
        elif name == step.others:
            more = _decode_pairs(steps, step.others_step, given, depth)
        else:
            # `_encode_members` put one `_` behind an undeclared name that looks like a changed one.
            found[name[:-1] if changed and is_escaped(name, changed) else name] = given
    # A declared property wins over a pair with its name.
    return {**more, **found} if isinstance(more, dict) else found


def is_escaped(name: str, changed: set[str]) -> bool:
    """Returns True when a name is one of `changed` with more `_` behind it."""
    return name not in changed and any(name.startswith(one) and not name[len(one) :].strip("_") for one in changed)


def _decode_items(steps: tuple[Step, ...], step: Items, value: list[object], depth: int) -> list[object]:
    first = step.first
    return [
        _decode_value(steps, first[at] if at < len(first) else step.rest, item, depth + 1)
        for at, item in enumerate(value)
    ]


def _decode_pairs(steps: tuple[Step, ...], number: int, value: object, depth: int) -> object:
    if isinstance(value, str):
        parsed = _parse_json(value)
        value = parsed if isinstance(parsed, list | dict) else value
    if isinstance(value, dict):
        return {key: _decode_value(steps, number, item, depth + 1) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    found: JsonObject = {}
    for pair in value:
        if isinstance(pair, dict) and isinstance(pair.get(KEY), str) and VALUE in pair:
            found[pair[KEY]] = _decode_value(steps, number, pair[VALUE], depth + 1)
        elif isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):
            found[pair[0]] = _decode_value(steps, number, pair[1], depth + 1)
        else:
            return value
    return found


def _decode_choice(steps: tuple[Step, ...], step: UnionChoice, value: object, depth: int) -> object:
    fitting = [option for option in step.options if has_shape(option.shape, value)]
    if not fitting and isinstance(value, str):
        parsed = _parse_json(value)
        if isinstance(parsed, dict | list):
            value = parsed
            fitting = [option for option in step.options if has_shape(option.shape, value)]
    # Branches that are decoded alike need not be told apart.
    numbers = {option.step for option in fitting}
    if len(numbers) == 1:
        return _decode_value(steps, numbers.pop(), value, depth + 1)
    # Which branch was meant may show only afterwards: the original one has to accept what comes out.
    for option in fitting or step.options:
        found = _decode_value(steps, option.step, value, depth + 1)
        if accepts(option, found):
            return found
    return value


def accepts(option: Option, value: Any) -> bool:
    """Returns True when the original branch accepts a value, as far as is known."""
    if type_of(value) not in option.was:
        return False
    if not option.accepts:
        return True
    try:
        return compile_schema(option.accepts.encode()).is_valid(value)
    except Exception:  # a branch that cannot be compiled decides nothing
        return True


def has_shape(shape: FittedShape, value: object) -> bool:
    """Returns True when a value looks like the fitted branch."""
    if type_of(value) not in shape.types:
        return False
    if not isinstance(value, dict):
        return True
    if not shape.required <= value.keys() or (shape.allowed is not None and not value.keys() <= shape.allowed):
        return False
    return all(
        name not in value or key_of(value[name]) in map(key_of, allowed) for name, allowed in shape.constants.items()
    )


def _parse_as(value: object, kind: type) -> object:
    """Parses an object or a list that was sent as JSON in a text."""
    if isinstance(value, str):
        parsed = _parse_json(value)
        return parsed if isinstance(parsed, kind) else value
    return value


def _parse_json(text: str | bytes) -> object:
    """Parses JSON; returns the text itself where it is none."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


def encode(steps: tuple[Step, ...], arguments: object) -> Any:
    """Encodes arguments as the answer a model would have to send so that `decode` returns them."""
    return _encode_value(steps, 0, arguments, 0) if steps else arguments


def _encode_value(steps: tuple[Step, ...], number: int, value: object, depth: int) -> object:
    if number == KEEP or depth > _DEEPEST:
        return value
    match steps[number]:
        case JsonText():
            return _encode_text(value)
        case Members() as step:
            return _encode_members(steps, step, value, depth) if isinstance(value, dict) else value
        case Items() as step:
            if not isinstance(value, list):
                return value
            return [
                _encode_value(steps, step.first[at] if at < len(step.first) else step.rest, item, depth + 1)
                for at, item in enumerate(value)
            ]
        case Pairs() as step:
            return _encode_pairs(steps, step.step, value, depth) if isinstance(value, dict) else value
        case Wrapped() as step:
            return {step.name: _encode_value(steps, step.step, value, depth + 1)}
        case UnionChoice() as step:
            return _encode_choice(steps, step, value, depth)
        case Same():
            return value


def _encode_members(steps: tuple[Step, ...], step: Members, value: JsonObject, depth: int) -> JsonObject:
    by_name = {member.name if member.was is None else member.was: member for member in step.members}
    changed = {member.name for member in step.members if member.was is not None} if step.is_open else set()
    found: JsonObject = {}
    more: JsonObject = {}
    for name, given in value.items():
        member = by_name.get(name)
        if member is not None:
            found[member.name] = _encode_value(steps, member.step, given, depth + 1)
        elif step.others is not None:
            more[name] = given
        else:
            found[name + "_" if changed and (name in changed or is_escaped(name, changed)) else name] = given
    for member in step.members:
        if member.is_absent_null and member.name not in found:
            found[member.name] = None
    if step.others is not None:
        found[step.others] = _encode_pairs(steps, step.others_step, more, depth)
    return found


def _encode_pairs(steps: tuple[Step, ...], number: int, value: JsonObject, depth: int) -> list[object]:
    return [{KEY: name, VALUE: _encode_value(steps, number, given, depth + 1)} for name, given in value.items()]


def _encode_choice(steps: tuple[Step, ...], step: UnionChoice, value: object, depth: int) -> object:
    candidates = [option for option in step.options if accepts(option, value)]
    first: list[Any] = []
    for option in candidates or [option for option in step.options if type_of(value) in option.was]:
        found = _encode_value(steps, option.step, value, depth + 1)
        if has_shape(option.shape, found):
            return found
        first.append(found)
    return first[0] if first else value


def _encode_text(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError):
        return json.dumps(value)
