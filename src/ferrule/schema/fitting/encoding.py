"""The way there: arguments of a tool as an answer to its fitted schema. For examples, and to prove that decoding is right."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ferrule.schema.fitting.decoding import accepts, has_shape, is_escaped
from ferrule.schema.fitting.steps import KEEP, KEY, VALUE, Choice, Items, Members, Pairs, Same, Step, Text, Wrapped
from ferrule.schema.fitting.typed import type_of

_DEEPEST = 150


def encode(steps: tuple[Step, ...], arguments: Any) -> Any:
    """What a model would have to answer so that `decode` gives these arguments."""
    return _encoded(steps, 0, arguments, 0) if steps else arguments


def _encoded(steps: tuple[Step, ...], number: int, value: Any, depth: int) -> Any:
    if number == KEEP or depth > _DEEPEST:
        return value
    match steps[number]:
        case Text():
            return _text(value)
        case Members() as step:
            return _members(steps, step, value, depth) if isinstance(value, dict) else value
        case Items() as step:
            if not isinstance(value, list):
                return value
            return [
                _encoded(steps, step.first[at] if at < len(step.first) else step.rest, item, depth + 1)
                for at, item in enumerate(value)
            ]
        case Pairs() as step:
            return _pairs(steps, step.step, value, depth) if isinstance(value, dict) else value
        case Wrapped() as step:
            return {step.name: _encoded(steps, step.step, value, depth + 1)}
        case Choice() as step:
            return _chosen(steps, step, value, depth)
        case Same():
            return value


def _members(steps: tuple[Step, ...], step: Members, value: dict[str, Any], depth: int) -> dict[str, Any]:
    by_name = {member.name if member.was is None else member.was: member for member in step.members}
    changed = {member.name for member in step.members if member.was is not None} if step.is_open else set()
    found: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, given in value.items():
        member = by_name.get(name)
        if member is not None:
            found[member.name] = _encoded(steps, member.step, given, depth + 1)
        elif step.others is not None:
            more[name] = given
        else:
            found[name + "_" if changed and (name in changed or is_escaped(name, changed)) else name] = given
    for member in step.members:
        if member.is_absent_null and member.name not in found:
            found[member.name] = None
    if step.others is not None:
        found[step.others] = _pairs(steps, step.others_step, more, depth)
    return found


def _pairs(steps: tuple[Step, ...], number: int, value: dict[str, Any], depth: int) -> list[Any]:
    return [{KEY: name, VALUE: _encoded(steps, number, given, depth + 1)} for name, given in value.items()]


def _chosen(steps: tuple[Step, ...], step: Choice, value: Any, depth: int) -> Any:
    candidates = [option for option in step.options if accepts(option, value)]
    first: list[Any] = []
    for option in candidates or [option for option in step.options if type_of(value) in option.was]:
        found = _encoded(steps, option.step, value, depth + 1)
        if has_shape(option.shape, found):
            return found
        first.append(found)
    return first[0] if first else value


def _text(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError):
        return json.dumps(value)
