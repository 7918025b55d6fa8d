"""Rules for `inject` of tools: names that are well formed, defined, resolvable and not repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.tool_fields import IDENTIFIER
from ferrule.definitions.rules.adl.tool_items import list_user_tools
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.value import MISSING, JsonValue, Missing, Path

_ENTRY = re.compile(rf"{IDENTIFIER}(?:\.{IDENTIFIER})*")
ALWAYS_THERE = frozenset({"logger", "config"})


def _list_entries(subject: Subject) -> list[tuple[Path, str]]:
    """Returns the entries of every user-defined tool that no error was reported on so far."""
    known: list[tuple[Path, str]] | None = subject.memo.get("adl.entries")  # type: ignore[assignment]
    if known is None:
        known = subject.memo["adl.entries"] = [
            ((*tool.path, "inject", index), entry)
            for tool in list_user_tools(subject)
            if isinstance(tool.value.get("inject"), list)
            for index, entry in enumerate(tool.value["inject"])
            if isinstance(entry, str)
        ]
    if subject.has_errors:
        return [item for item in known if not subject.is_reported(item[0])]
    return known


class MalformedInjection(Rule):
    """An entry of `inject` is an identifier, or several joined by dots.

    Why: it becomes a parameter in generated code.
    Bad:  inject: [order-repo]
    Good: inject: [orderRepo]
    """

    code = "ADL-29"
    name = "malformed-injection"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each entry that is no dotted identifier."""
        for path, entry in _list_entries(subject):
            if not _ENTRY.fullmatch(entry):
                message = f"{entry[:60]!r} is neither an identifier nor a dotted path of them"
                yield Finding(self.code, path, message, hint="use letters, digits and `_`, with dots in between")


class RepeatedInjection(Rule):
    """No entry stands twice in one `inject`. A service `x` beside `config.x` is no repetition.

    Why: generated code would declare the same parameter twice.
    Bad:  inject: [logger, logger]
    Good: inject: [logger]
    """

    code = "ADL-33"
    name = "repeated-injection"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each later occurrence."""
        seen: set[tuple[Path, str]] = set()
        for path, entry in _list_entries(subject):
            known = (path[:3], entry)
            if known in seen:
                yield Finding(self.code, path, f"{entry[:60]!r} is injected twice", hint="remove one of the two")
            seen.add(known)


class InjectedBuiltinConfig(Rule):
    """`config.tools` is not injected.

    Why: that group holds the settings of the built-in tools and belongs to them.
    Bad:  inject: [config.tools]
    Good: inject: [config.search]
    """

    code = "ADL-31"
    name = "injected-builtin-config"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields `config.tools` and anything below it."""
        for path, entry in _list_entries(subject):
            if entry == "config.tools" or entry.startswith("config.tools."):
                hint = "keep the tool's own settings in a group of their own"
                yield Finding(self.code, path, "`config.tools` belongs to the built-in tools", hint=hint)


class UndefinedInjection(Rule):
    """An entry of `inject` names a service of `spec.services`, a group of `spec.config` as `config.<group>`, `logger` or
    `config`.

    Why: there is nothing else to hand to the tool.
    Bad:  inject: [ordersRepo]      # services: {orderRepo: …}
    Good: inject: [orderRepo]
    """

    code = "ADL-30"
    name = "undefined-injection"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each entry whose service or config group does not exist."""
        services = config = None
        for path, entry in _list_entries(subject):
            first, _, rest = entry.partition(".")
            if first == "config":
                group = rest.partition(".")[0]
                if not group:
                    continue
                config = config or _read_names(subject, "config")
                if config.is_known and group not in config.names:
                    hint = config.nearest(group) or "write the group under `spec.config`"
                    yield Finding(self.code, path, f"`spec.config` has no group {group[:60]!r}", hint=hint)
            elif first not in ALWAYS_THERE:
                services = services or _read_names(subject, "services")
                if services.is_known and first not in services.names:
                    hint = services.nearest(first) or "define it under `spec.services`"
                    yield Finding(self.code, path, f"`spec.services` has no service {first[:60]!r}", hint=hint)


class _BlockNames:
    """The keys of a block; unknown when the block is written but no mapping."""

    def __init__(self, value: JsonValue | Missing, others: Iterable[str], *, is_written: bool) -> None:
        self.names: dict[str, object] = value if isinstance(value, dict) else {}
        self.others = others
        self.is_known = isinstance(value, dict) or not is_written

    def nearest(self, name: str) -> str | None:
        """Returns a hint; None among so many names that the search takes long."""
        return nearest(name, (*self.names, *self.others)) if len(self.names) <= 40 else None


def _read_names(subject: Subject, block: str) -> _BlockNames:
    spec = subject.value.get("spec")
    is_written = isinstance(spec, dict) and block in spec
    value = spec[block] if is_written else MISSING  # type: ignore[index,call-overload]
    return _BlockNames(value, ALWAYS_THERE if block == "services" else (), is_written=is_written)


class DeepInjection(Rule):
    """An entry of `inject` goes no deeper than a service or `config.<group>`.

    Why: deeper paths are legal, but the reference generator resolves none of them.
    Bad:  inject: [customerRepo.reader]
    Good: inject: [customerRepo]
    """

    code = "ADL-32"
    name = "deep-injection"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each entry with segments that no runtime resolves; skips entries already in error."""
        for path, entry in _list_entries(subject):
            if entry.count(".") > entry.startswith("config."):
                message = f"the deeper part of {entry[:60]!r} is not resolved by the reference generator"
                hint = "inject the part before it, and reach the rest in the tool's code"
                yield Finding(self.code, path, message, self.severity, hint)
