"""What a tool's definition says about its results: how large they may be, how they are kept, what of them is private.

The standard names the fields and leaves most of their contents open; docs/guide/results.md lists what is understood here.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ferrule.contracts.payloads import Scope
from ferrule.model.persistence import STRATEGIES, ResultSettings, Strategy
from ferrule.model.tool import Tool
from ferrule.runtime.pipeline.output_rules import OutputRules

EmptyPolicy = Literal["marker", "structured", "error"]


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """What one tool says about its results."""

    strategy: Strategy | None = None
    max_inline_chars: int | None = None
    """The smallest of those it states (AT-88)."""
    max_inline_bytes: int | None = None
    preview_chars: int | None = None
    scope: Scope = "durable"
    expires_seconds: int | None = None
    is_private: bool = False
    reason: str = ""
    """Why its output is dropped or withheld."""
    fallback_summary: str = ""
    """What stands in the place of output that is withheld or dropped (AT-89)."""
    empty: EmptyPolicy = "marker"
    ui_summary: str | None = None
    search_text: str | None = None
    rules: OutputRules | None = None
    """What is always taken out of its output."""


NO_KEEPING = Keeping()


class Limits(msgspec.Struct, frozen=True):
    """How much of one result is shown."""

    chars: int
    bytes: int | None
    preview: int

    def to_record(self) -> dict[str, int]:
        """The `threshold` of a persistence record."""
        threshold = {"max_inline_chars": self.chars}
        return threshold if self.bytes is None else {**threshold, "max_inline_bytes": self.bytes}

    def allows(self, text: str) -> bool:
        """True when a text may be shown whole."""
        return len(text) <= self.chars and (self.bytes is None or _bytes(text) <= self.bytes)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def limits_of(keeping: Keeping, settings: ResultSettings) -> Limits:
    """The smallest limits anybody states (AT-88)."""
    chars = min(settings.max_inline_chars, keeping.max_inline_chars or settings.max_inline_chars)
    stated = [limit for limit in (settings.max_inline_bytes, keeping.max_inline_bytes) if limit is not None]
    most = min(stated) if stated else None
    preview = settings.preview_chars if keeping.preview_chars is None else keeping.preview_chars
    return Limits(chars, most, min(preview, chars, chars if most is None else most))


def keeping_of(tool: Tool, payload: dict[str, Any]) -> Keeping | None:
    """What a tool's definition says; None when it says nothing."""
    contract = _part(payload, "output_contract")
    interface = _part(payload, "tool_interface") or _part(payload, "interface")
    rendering = {**_part(interface, "rendering"), **interface}
    homes = (contract, interface, payload)
    policy = _policy(homes)
    keeping = Keeping(
        strategy=_strategy(policy) or ("never_persist" if _is_file_reader(tool, payload) else None),
        max_inline_chars=_smallest("max_inline_chars", (*homes, policy, _part(policy, "threshold"))),
        max_inline_bytes=_smallest("max_inline_bytes", (*homes, policy, _part(policy, "threshold"))),
        preview_chars=_number(policy.get("preview_chars")),
        scope="session" if policy.get("scope") == "session" else "durable",
        expires_seconds=_number(policy.get("expires_seconds")) or None,
        is_private=_is_private(contract) or _is_private(policy),
        reason=_text(policy.get("reason")) or "",
        fallback_summary=_text(contract.get("fallback_summary")) or "",
        empty=_empty(interface.get("empty_result_policy", payload.get("empty_result_policy"))),
        ui_summary=_text(rendering.get("ui_summary")),
        search_text=_text(rendering.get("transcript_search_text")),
        rules=OutputRules.of(contract.get("redaction_rules")),
    )
    return None if keeping == NO_KEEPING else keeping


def _policy(homes: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """The persistence policy: an object, or the name of a strategy, also where a reference is expected."""
    for home in homes:
        for key in ("persistence_policy", "persistence_policy_ref"):
            stated = home.get(key)
            if isinstance(stated, dict):
                return stated
            if isinstance(stated, str) and stated in STRATEGIES:
                return {"strategy": stated}
    return {}


def _strategy(policy: dict[str, Any]) -> Strategy | None:
    return next((known for known in STRATEGIES if known == policy.get("strategy")), None)


def _is_file_reader(tool: Tool, payload: dict[str, Any]) -> bool:
    """The built-in that reads files: what it gives is in a file already (AT-231)."""
    return tool.dialect == "adl" and tool.tool_kind == "file_operation" and _part(payload, "tool").get("id") == "read"


def _is_private(part: dict[str, Any]) -> bool:
    return part.get("is_private") is True or part.get("private") is True or part.get("visibility") == "private"


def _empty(policy: Any) -> EmptyPolicy:
    if isinstance(policy, dict):
        policy = policy.get("policy")
    return policy if policy in ("structured", "error") else "marker"


def _smallest(key: str, parts: tuple[dict[str, Any], ...]) -> int | None:
    stated = [number for part in parts if (number := _number(part.get(key)))]
    return min(stated) if stated else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and value is not True and value is not False and value >= 0 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _part(payload: dict[str, Any], key: str) -> dict[str, Any]:
    part = payload.get(key)
    return part if isinstance(part, dict) else {}
