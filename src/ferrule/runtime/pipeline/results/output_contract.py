"""The output contract of a tool: size limits, persistence, privacy and redaction rules of its results.

The standard names the fields and leaves most of their contents open; docs/guide/results.md lists what is understood
here. A rule of `output_contract.redaction_rules` is the name of a member (at any depth), a path (`customer.email`,
`/customer/email`, `*` for any step), or an object with a `field`, a `path` or a `pattern` (a regular expression over
texts). An unreadable rule withholds the whole output. It knows no call; `tool_facts` reads it once per tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ferrule.contracts.payloads import Scope
from ferrule.model.persistence import STRATEGIES, ResultSettings, Strategy
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.redaction.sensitive_input import REDACTED
from ferrule.schema.pointers import read_pointer

Steps = tuple[str, ...]


class OutputRules(msgspec.Struct, frozen=True):
    """The redaction rules of one tool."""

    names: frozenset[str] = frozenset()
    paths: tuple[Steps, ...] = ()
    patterns: tuple[str, ...] = ()
    is_unreadable: bool = False
    """True when a rule cannot be understood: then nothing of the output is shown."""

    @classmethod
    def of(cls, stated: object) -> OutputRules | None:
        """Reads the rules of a definition; None without any."""
        rules = [stated] if isinstance(stated, str | dict) else stated
        if not rules:
            return None
        if not isinstance(rules, list):
            return cls(is_unreadable=True)
        read = [_read_rule(rule) for rule in rules]
        return cls(
            frozenset(steps[0] for kind, steps in read if kind == "name"),
            tuple(steps for kind, steps in read if kind == "path"),
            tuple(steps[0] for kind, steps in read if kind == "pattern"),
            any(kind == "unreadable" for kind, _ in read),
        )

    def mask(self, value: object) -> tuple[object, frozenset[str]]:
        """Masks the members that the rules name; also returns the masked texts, to be removed elsewhere."""
        found: set[str] = set()
        return self._mask_value(value, self.paths, found), frozenset(found)

    def redact_texts(self, value: object) -> Any:
        """Removes the matches of the patterns from all texts of a value."""
        if not self.patterns:
            return value
        if isinstance(value, str):
            for pattern in self.patterns:
                value = re.compile(pattern).sub(REDACTED, value)  # `re` caches compiled patterns
            return value
        if isinstance(value, dict):
            return {name: self.redact_texts(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.redact_texts(member) for member in value)
        return value

    def _mask_value(self, value: object, paths: tuple[Steps, ...], found: set[str]) -> object:
        if isinstance(value, dict):
            return {name: self._mask_member(str(name), member, paths, found) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self._mask_member(str(number), member, paths, found) for number, member in enumerate(value)]
        return value

    def _mask_member(self, name: str, member: object, paths: tuple[Steps, ...], found: set[str]) -> object:
        left = tuple(path[1:] for path in paths if path[0] in (name, "*"))
        if name in self.names or () in left:
            found.update(_iter_leaves(member))
            return REDACTED
        return self._mask_value(member, left, found)


def _read_rule(rule: object) -> tuple[str, Steps]:
    if isinstance(rule, dict):
        pattern = rule.get("pattern")
        if isinstance(pattern, str):
            return ("pattern", (pattern,)) if _is_pattern(pattern) else ("unreadable", ())
        rule = rule.get("path", rule.get("field"))
    if not isinstance(rule, str) or not rule.strip("/.$"):
        return "unreadable", ()
    if rule.startswith("/"):
        return "path", read_pointer(rule)
    steps = tuple(step for step in rule.removeprefix("$").replace("[*]", ".*").split(".") if step)
    return ("path", steps) if len(steps) > 1 or rule.startswith("$") else ("name", steps)


def _is_pattern(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _iter_leaves(value: object) -> Iterator[str]:
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


EmptyPolicy = Literal["marker", "structured", "error"]


class OutputPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How the results of one tool are kept."""

    strategy: Strategy | None = None
    max_inline_chars: int | None = None
    """The smallest of those stated (AT-88)."""
    max_inline_bytes: int | None = None
    preview_chars: int | None = None
    scope: Scope = "durable"
    expires_seconds: int | None = None
    is_private: bool = False
    reason: str = ""
    """The reason why its output is dropped or withheld."""
    fallback_summary: str = ""
    """The text in place of output that is withheld or dropped (AT-89)."""
    empty: EmptyPolicy = "marker"
    ui_summary: str | None = None
    search_text: str | None = None
    rules: OutputRules | None = None
    """The redaction rules that always apply to its output."""


NO_OUTPUT_POLICY = OutputPolicy()


class InlineLimits(msgspec.Struct, frozen=True):
    """How much of one result is shown."""

    chars: int
    bytes: int | None
    preview: int

    def to_record(self) -> dict[str, int]:
        """Returns the `threshold` of a persistence record."""
        threshold = {"max_inline_chars": self.chars}
        return threshold if self.bytes is None else {**threshold, "max_inline_bytes": self.bytes}

    def allows(self, text: str) -> bool:
        """Returns True when a text may be shown in full."""
        return len(text) <= self.chars and (self.bytes is None or _count_bytes(text) <= self.bytes)


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def compute_limits(keeping: OutputPolicy, settings: ResultSettings) -> InlineLimits:
    """Returns the smallest limits of tool and settings (AT-88)."""
    chars = min(settings.max_inline_chars, keeping.max_inline_chars or settings.max_inline_chars)
    stated = [limit for limit in (settings.max_inline_bytes, keeping.max_inline_bytes) if limit is not None]
    most = min(stated) if stated else None
    preview = settings.preview_chars if keeping.preview_chars is None else keeping.preview_chars
    return InlineLimits(chars, most, min(preview, chars, chars if most is None else most))


def read_output_policy(tool: Tool, payload: JsonObject) -> OutputPolicy | None:
    """Reads the output policy of a definition; None when it states nothing."""
    contract = _get_object(payload, "output_contract")
    interface = _get_object(payload, "tool_interface") or _get_object(payload, "interface")
    rendering = {**_get_object(interface, "rendering"), **interface}
    homes = (contract, interface, payload)
    policy = _find_policy(homes)
    keeping = OutputPolicy(
        strategy=_read_strategy(policy) or ("never_persist" if _is_file_reader(tool, payload) else None),
        max_inline_chars=_find_smallest("max_inline_chars", (*homes, policy, _get_object(policy, "threshold"))),
        max_inline_bytes=_find_smallest("max_inline_bytes", (*homes, policy, _get_object(policy, "threshold"))),
        preview_chars=_read_number(policy.get("preview_chars")),
        scope="session" if policy.get("scope") == "session" else "durable",
        expires_seconds=_read_number(policy.get("expires_seconds")) or None,
        is_private=_is_private(contract) or _is_private(policy),
        reason=_read_text(policy.get("reason")) or "",
        fallback_summary=_read_text(contract.get("fallback_summary")) or "",
        empty=_read_empty_policy(interface.get("empty_result_policy", payload.get("empty_result_policy"))),
        ui_summary=_read_text(rendering.get("ui_summary")),
        search_text=_read_text(rendering.get("transcript_search_text")),
        rules=OutputRules.of(contract.get("redaction_rules")),
    )
    return None if keeping == NO_OUTPUT_POLICY else keeping


def _find_policy(homes: tuple[JsonObject, ...]) -> JsonObject:
    """Finds the persistence policy: an object, or the name of a strategy, also where a reference is expected."""
    for home in homes:
        for key in ("persistence_policy", "persistence_policy_ref"):
            stated = home.get(key)
            if isinstance(stated, dict):
                return stated
            if isinstance(stated, str) and stated in STRATEGIES:
                return {"strategy": stated}
    return {}


def _read_strategy(policy: JsonObject) -> Strategy | None:
    return next((known for known in STRATEGIES if known == policy.get("strategy")), None)


def _is_file_reader(tool: Tool, payload: JsonObject) -> bool:
    """Returns True for the built-in that reads files: its output is in a file already (AT-231)."""
    return (
        tool.dialect == "adl"
        and tool.tool_kind == "file_operation"
        and _get_object(payload, "tool").get("id") == "read"
    )


def _is_private(part: JsonObject) -> bool:
    return part.get("is_private") is True or part.get("private") is True or part.get("visibility") == "private"


def _read_empty_policy(policy: object) -> EmptyPolicy:
    if isinstance(policy, dict):
        policy = policy.get("policy")
    return policy if policy in ("structured", "error") else "marker"


def _find_smallest(key: str, parts: tuple[JsonObject, ...]) -> int | None:
    stated = [number for part in parts if (number := _read_number(part.get(key)))]
    return min(stated) if stated else None


def _read_number(value: object) -> int | None:
    return value if isinstance(value, int) and value is not True and value is not False and value >= 0 else None


def _read_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _get_object(payload: JsonObject, key: str) -> JsonObject:
    part = payload.get(key)
    return part if isinstance(part, dict) else {}
