"""Policy as data: rules, the files they stand in, and all of them together. Knows nothing of how they are matched.

Read and checked by `runtime/policy/read.py`, joined by `runtime/policy/load.py`, obeyed by `runtime/policy/engine.py`.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ferrule.model.decision import Behavior, Risk, RuleSource

Mode = Literal["default", "read_only", "ask_all", "trusted", "locked"]
MODES: tuple[Mode, ...] = get_args(Mode)
Authority = Literal["approve", "deny", "decide", "recommend"]
AUTHORITIES: tuple[Authority, ...] = get_args(Authority)
EngineName = Literal["rules", "cedar"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

GROUP = "group:"
"""The prefix of a name that means a group of `[groups]`."""


class ValuePatterns(msgspec.Struct, frozen=True):
    """The patterns of a rule for values among the arguments: a path, a command, an address, a resource."""

    patterns: tuple[str, ...]
    fields: tuple[str, ...] = ()
    """Dotted names of the arguments that hold them; empty: those the tool's profile, their names and formats tell."""


class Condition(msgspec.Struct, frozen=True):
    """One condition on one argument."""

    path: tuple[str, ...]
    operator: str
    operand: Any


class Demand(msgspec.Struct, frozen=True):
    """The demands of an `ask` on its approvers; None and empty for no demand."""

    approvers: tuple[str, ...] = ()
    people: int = 1
    not_requester: bool = False
    channels: tuple[str, ...] = ()
    expires_seconds: int | None = None


class PolicyRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: a decision for every call that all its matchers fit."""

    rule_id: str
    decision: Behavior
    source: RuleSource
    file: str
    """As shown to people; empty for rules that were handed over as data."""
    line: int = 0
    reason: str = ""
    tool: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ()
    tool_kind: tuple[str, ...] = ()
    risk: tuple[Risk, ...] = ()
    facts: dict[str, bool] = {}
    dialect: tuple[str, ...] = ()
    lifecycle: tuple[str, ...] = ()
    native_id: tuple[str, ...] = ()
    path: ValuePatterns | None = None
    command: ValuePatterns | None = None
    url: ValuePatterns | None = None
    resource: ValuePatterns | None = None
    when: tuple[Condition, ...] = ()
    principal: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    channel: tuple[str, ...] = ()
    tenant: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    demand: Demand = Demand()

    @property
    def place(self) -> str:
        """The file and line of the rule, for people."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return place or self.source


class ClassifierUse(msgspec.Struct, frozen=True):
    """A classifier that is asked, and what its word counts for."""

    name: str
    authority: Authority
    source: RuleSource
    tools: tuple[str, ...] = ("*",)


class PolicyFile(msgspec.Struct, frozen=True, kw_only=True):
    """The policy of one source."""

    source: RuleSource
    name: str
    """The file as shown to people, or the source's own name."""
    digest: str
    mode: Mode | None = None
    rules: tuple[PolicyRule, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}
    classifiers: tuple[ClassifierUse, ...] = ()
    authoritative_hooks: tuple[str, ...] = ()
    """Hooks whose allow settles an ask that is not this file's own; only `policy_settings` may name them (AT-153)."""

    @property
    def ref(self) -> str:
        """Name and digest, as decisions record it."""
        return f"{self.name}@{self.digest[:12]}"


class PolicySet(msgspec.Struct, frozen=True, kw_only=True):
    """All policy in force, with the shadow policy."""

    files: tuple[PolicyFile, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}
    """Members by group. Only the workspace's own files define groups, and the security reviewer's word wins."""
    root: str = "/"
    """Relative paths of rules and arguments start here."""
    home: str = ""
    """The folder that `~` means; empty when unknown."""
    expires_seconds: int = 24 * 3600
    """How long an ask stands when no rule says."""
    cedar: str | None = None
    """The text of the Cedar policies; None unless the engine is Cedar."""
    cedar_file: str = ""
    shadow: PolicySet | None = None
    shadow_ref: str = ""
    """The shadow policy's file; set also when it could not be used."""
    shadow_problem: str = ""
    """Why the shadow policy cannot be used. It then counts as one that refuses everything."""
