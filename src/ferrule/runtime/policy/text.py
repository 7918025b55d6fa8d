"""A policy in readable form: what the ledger keeps, so that old decisions can be explained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.runtime.policy.modes import label, modes_of
from ferrule.runtime.policy.records import PolicyFile, PolicyRule, PolicySet

_ELSEWHERE = frozenset({"rule_id", "decision", "source", "file", "line", "reason", "demand"})


def text_of(policy: PolicySet) -> str:
    """The whole policy for people."""
    lines = [f"mode {label(modes_of(policy.files))}"]
    lines += [f"group {name}: {', '.join(members)}" for name, members in sorted(policy.groups.items())]
    for file in policy.files:
        lines += ["", *_file_lines(file)]
    if policy.cedar is not None:
        lines += ["", f"# Cedar, {policy.cedar_file}", policy.cedar.rstrip()]
    return "\n".join(lines) + "\n"


def _file_lines(file: PolicyFile) -> Iterator[str]:
    yield f"# {file.source}, {file.ref}"
    yield from map(rule_text, file.rules)
    if file.authoritative_hooks:
        yield f"hooks whose allow counts: {', '.join(file.authoritative_hooks)}"
    for use in file.classifiers:
        yield f"classifier {use.name} may {use.authority} for {', '.join(use.tools)}"


def rule_text(rule: PolicyRule) -> str:
    """One rule on one line."""
    written: dict[str, Any] = msgspec.to_builtins(rule)
    parts = [f"{key} {_shown(value)}" for key, value in written.items() if value and key not in _ELSEWHERE]
    if rule.decision == "ask":
        parts += [f"{key} {_shown(value)}" for key, value in written["demand"].items() if value]
    reason = f"  # {rule.reason}" if rule.reason else ""
    return f"{rule.decision} {rule.rule_id} (line {rule.line}): {'; '.join(parts) or 'every call'}{reason}"


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
