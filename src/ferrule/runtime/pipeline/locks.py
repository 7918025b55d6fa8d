"""Resource locks of a call: those of its tool and of the policy, with input members filled into their keys.

Read once per tool (`read_lock_plan`), worked out per call. A lock that cannot be understood makes its tool run alone:
its author wanted some exclusion, and nobody can tell which.
"""

from __future__ import annotations

import hashlib
import re
from fnmatch import fnmatchcase

import msgspec

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.model.tool import SafetyFacts
from ferrule.model.value import JsonObject

MAX_KEY_CHARS = 512
"""A longer key is shortened, with a digest to tell it apart."""

_HOMES = (None, "tool_interface", "interface", "scheduler", "execution_profile")
_MEMBER = re.compile(r"\{([^{}]+)\}")
_ABSENT = object()
_KEY_NAMES = ("key", "resource", "name", "lock")
"""The standard gives a lock no shape; the first of these members present is its key."""


class LockTemplate(msgspec.Struct, frozen=True):
    """A lock whose key contains input members."""

    parts: tuple[str, ...]
    """Texts and member names alternate: `order:{id}` is `("order:", "id", "")`."""
    is_shared: bool = False

    def format_key(self, arguments: object) -> str:
        """Returns the key for one input."""
        named = "".join(
            _format_member(_find_member(arguments, part)) if number % 2 else part
            for number, part in enumerate(self.parts)
        )
        if len(named) <= MAX_KEY_CHARS:
            return named
        return named[:64] + "…" + hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()


class LockPlan(msgspec.Struct, frozen=True):
    """The locks of every call of one tool."""

    templates: tuple[LockTemplate, ...] = ()
    is_unreadable: bool = False
    """True when a lock cannot be understood: calls of the tool run alone."""

    @property
    def is_fixed(self) -> bool:
        """True when the keys are the same for every input."""
        return all(len(template.parts) == 1 for template in self.templates)

    def list_keys(self, arguments: object) -> tuple[tuple[str, bool], ...]:
        """Returns the sorted keys for one input, each with True when shared; exclusive where both are stated."""
        if not self.templates:
            return ()
        modes: dict[str, bool] = {}
        for template in self.templates:
            key = template.format_key(arguments)
            modes[key] = modes.get(key, True) and template.is_shared
        return tuple(sorted(modes.items()))


NO_LOCKS = LockPlan()


def read_lock_plan(payload: JsonObject, tool_id: str, policy: SchedulerPolicy) -> LockPlan:
    """Combines the locks of a tool's definition and of the policy."""
    entries = [entry for home in _HOMES for entry in _list_entries(payload, home)]
    entries += [
        {"key": lock.key, "mode": lock.mode} for lock in policy.resource_locks if fnmatchcase(tool_id, lock.tool)
    ]
    if not entries:
        return NO_LOCKS
    templates = [_parse_template(entry) for entry in entries]
    if None not in templates:
        return LockPlan(tuple(dict.fromkeys(template for template in templates if template is not None)))
    # Running alone in its lane is not enough: calls in other lanes, and of tools with the same entry, must not overlap either.
    stand_ins = [
        template or LockTemplate((f"unreadable lock {_format_member(entry)}",))
        for template, entry in zip(templates, entries, strict=True)
    ]
    return LockPlan((*dict.fromkeys(stand_ins), LockTemplate((f"unreadable locks of {tool_id}",))), is_unreadable=True)


def build_claim(
    tool_id: str,
    facts: SafetyFacts,
    plan: LockPlan,
    arguments: object,
    *,
    principal: str,
    priority: int = 0,
    requires_exclusive_context: bool = False,
) -> Claim:
    """Builds the scheduler's claim of one call. A fact that is not plainly yes or no counts as the stricter one."""
    return Claim(
        tool_id=tool_id,
        principal=principal,
        is_concurrency_safe=facts.is_concurrency_safe is True,
        is_read_only=facts.is_read_only is True,
        is_destructive=facts.is_destructive is not False,
        is_open_world=facts.is_open_world is not False,
        requires_exclusive_context=requires_exclusive_context or plan.is_unreadable,
        locks=plan.list_keys(arguments),
        priority=priority,
    )


def _list_entries(payload: JsonObject, home: str | None) -> list[object]:
    part = payload if home is None else payload.get(home)
    written = part.get("resource_locks") if isinstance(part, dict) else None
    if written is None:
        return []
    return written if isinstance(written, list) else [written]


def _parse_template(entry: object) -> LockTemplate | None:
    """Parses a lock; None when it cannot be understood. An unknown mode counts as exclusive."""
    key, mode = entry, None
    if isinstance(entry, dict):
        key, mode = next((entry[name] for name in _KEY_NAMES if name in entry), None), entry.get("mode")
    if not isinstance(key, str) or not key.strip():
        return None
    parts = _MEMBER.split(key)
    if any("{" in text or "}" in text for text in parts[::2]):
        return None
    return LockTemplate(tuple(parts), mode == "shared")


def _find_member(arguments: object, path: str) -> object:
    """Returns the value at `a.b` or `items.0`; a member of exactly that name comes first."""
    if isinstance(arguments, dict) and path in arguments:
        return arguments[path]
    value = arguments
    for name in path.split("."):
        if isinstance(value, dict):
            value = value.get(name, _ABSENT)
        elif isinstance(value, list | tuple) and name.isascii() and name.isdigit() and len(name) < 10:
            value = value[int(name)] if int(name) < len(value) else _ABSENT
        else:
            return _ABSENT
    return value


def _format_member(value: object) -> str:
    """Formats a value for a key. Equal values give equal text; so do `1`, `1.0` and `"1"`: one lock too many only waits."""
    if value is _ABSENT or value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    try:
        return msgspec.json.encode(_normalize_numbers(value), order="deterministic").decode()
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        return ""


def _normalize_numbers(value: object) -> object:
    """Writes whole numbers one way, at any depth."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _normalize_numbers(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_numbers(item) for item in value]
    return value
