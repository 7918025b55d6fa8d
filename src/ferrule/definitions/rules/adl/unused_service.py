"""Services that no tool injects, and services that hide a built-in dependency."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.injection import ALWAYS_THERE
from ferrule.definitions.rules.adl.tool_items import TOOLS, list_tools
from ferrule.model.diagnostic import Finding, Severity

_SERVICES = ("spec", "services")


class UnusedService(Rule):
    """A service is injected into some tool, and is not called `logger` or `config`.

    Why: a service nobody injects is dead weight, and one named like a built-in dependency hides it.
    Bad:  services: {logger: {…}}
    Good: services: {auditLog: {…}}
    """

    code = "ADL-35"
    name = "unused-service"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a warning for a name that hides a built-in dependency, else a note when nothing injects the service."""
        services = subject.get(*_SERVICES)
        if not isinstance(services, dict) or not services:
            return
        injected = _collect_injected(subject)  # None: a service that looks unused may stand in an unreadable `inject`
        for name in services:
            path = (*_SERVICES, name)
            if name in ALWAYS_THERE:
                message = f"the service {name!r} hides the dependency that is always available under this name"
                yield Finding(self.code, path, message, Severity.WARNING, "give it another name", on_key=True)
            elif injected is not None and name not in injected:
                message, hint = f"no tool injects the service {name!r}", "name it in a tool's `inject`, or remove it"
                yield Finding(self.code, path, message, self.severity, hint, on_key=True)


def _collect_injected(subject: Subject) -> set[str] | None:
    """Returns the first segments of all entries; None when an error hides some `inject`."""
    if subject.has_errors and any(_is_hiding_injections(finding) for finding in subject.findings):
        return None
    names: set[str] = set()
    for tool in list_tools(subject):
        if "inject" in tool.value:
            names.update(entry.partition(".")[0] for entry in tool.value["inject"])
    return names


def _is_hiding_injections(finding: Finding) -> bool:
    """Returns True for an error at the tools as a whole, at one of them, or in its `inject`."""
    path = finding.path
    if finding.severity is not Severity.ERROR or path[:2] != TOOLS[: len(path)]:
        return False
    return len(path) <= 3 or path[3] == "inject"
