"""What a tool's contract wants taken out of its output: `output_contract.redaction_rules`.

A rule is the name of a member (at any depth), a path (`customer.email`, `/customer/email`, `*` for any step), or an object
with a `field`, a `path` or a `pattern` (a regular expression over texts). A rule nobody can read withholds everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.runtime.redaction.sensitive_input import REDACTED, scrub

Steps = tuple[str, ...]


class OutputRules(msgspec.Struct, frozen=True):
    """The rules of one tool."""

    names: frozenset[str] = frozenset()
    paths: tuple[Steps, ...] = ()
    patterns: tuple[str, ...] = ()
    is_unreadable: bool = False
    """True when a rule cannot be understood: then nothing of the output is shown."""

    @classmethod
    def of(cls, stated: Any) -> OutputRules | None:
        """The rules as a definition states them; None without any."""
        rules = [stated] if isinstance(stated, str | dict) else stated
        if not rules:
            return None
        if not isinstance(rules, list):
            return cls(is_unreadable=True)
        read = [_read(rule) for rule in rules]
        return cls(
            frozenset(steps[0] for kind, steps in read if kind == "name"),
            tuple(steps for kind, steps in read if kind == "path"),
            tuple(steps[0] for kind, steps in read if kind == "pattern"),
            any(kind == "unreadable" for kind, _ in read),
        )

    def apply(self, value: Any) -> tuple[Any, frozenset[str]]:
        """A JSON value with what the rules name masked, and the texts that were masked, to be scrubbed elsewhere."""
        found: set[str] = set()
        return self._masked(value, self.paths, found), frozenset(found)

    def texts(self, value: Any) -> Any:
        """Any value with what the patterns match taken out of its texts."""
        if not self.patterns:
            return value
        if isinstance(value, str):
            for pattern in self.patterns:
                value = _compiled(pattern).sub(REDACTED, value)
            return value
        if isinstance(value, dict):
            return {name: self.texts(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.texts(member) for member in value)
        return value

    def _masked(self, value: Any, paths: tuple[Steps, ...], found: set[str]) -> Any:
        if isinstance(value, dict):
            return {name: self._member(str(name), member, paths, found) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self._member(str(number), member, paths, found) for number, member in enumerate(value)]
        return value

    def _member(self, name: str, member: Any, paths: tuple[Steps, ...], found: set[str]) -> Any:
        left = tuple(path[1:] for path in paths if path[0] in (name, "*"))
        if name in self.names or () in left:
            found.update(_leaves(member))
            return REDACTED
        return self._masked(member, left, found)


def scrubbed(value: Any, secrets: frozenset[str]) -> Any:
    """A value without these texts; short ones only where they stand alone."""
    return scrub(value, secrets) if secrets else value


def _read(rule: Any) -> tuple[str, Steps]:
    if isinstance(rule, dict):
        pattern = rule.get("pattern")
        if isinstance(pattern, str):
            return ("pattern", (pattern,)) if _is_pattern(pattern) else ("unreadable", ())
        rule = rule.get("path", rule.get("field"))
    if not isinstance(rule, str) or not rule.strip("/.$"):
        return "unreadable", ()
    if rule.startswith("/"):
        return "path", tuple(step.replace("~1", "/").replace("~0", "~") for step in rule[1:].split("/"))
    steps = tuple(step for step in rule.removeprefix("$").replace("[*]", ".*").split(".") if step)
    return ("path", steps) if len(steps) > 1 or rule.startswith("$") else ("name", steps)


def _is_pattern(pattern: str) -> bool:
    try:
        _compiled(pattern)
    except re.error:
        return False
    return True


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # `re` keeps those it met last


def _leaves(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, str) and item:
            yield item
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)
