"""Built-in tools: the members a manifest may set, and where Ferrule is stricter than ADL's generator."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.adl.tool_items import list_tools
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path

SETTINGS: Path = ("spec", "config", "tools")
_CANONICAL = ("name", "description", "schema", "inject")


class RedefinedBuiltin(Rule):
    """A built-in tool (read, bash, write, edit, fetch) does not set `name`, `description`, `schema` or `inject`.

    Why: its canonical values win, so whatever is written there misleads the reader; the reference generator refuses it.
    Bad:  {id: bash, description: Runs commands}
    Good: {id: bash, tags: [shell]}
    """

    code = "ADL-19"
    name = "redefined-builtin"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields one finding per such key."""
        for tool in list_tools(subject):
            if not tool.is_builtin or len(tool.value) == 1:
                continue
            for key in _CANONICAL:
                if key in tool.value:
                    message = f"`{key}` of the built-in tool {tool.id!r} has no effect"
                    path = (*tool.path, key)
                    yield Finding(self.code, path, message, self.severity, "remove it", on_key=True)


def _list_enabled(subject: Subject) -> Iterator[str]:
    """Yields the built-ins that are listed and enabled."""
    seen: set[str] = set()
    for tool in list_tools(subject):
        if tool.is_builtin and tool.id is not None and tool.id not in seen:
            seen.add(tool.id)
            if subject.get(*SETTINGS, tool.id, "enabled") is True:
                yield tool.id


class UnrestrictedFileTool(Rule):
    """An enabled read, write or edit tool without `allowed_roots` reaches the workspace folder and nothing else.

    Why: ADL's generator lets such a tool reach every file; here a missing limit means the workspace.
    Good: read: {enabled: true, allowed_roots: [docs]}
    """

    code = "ADL-24"
    name = "unrestricted-file-tool"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields each enabled file tool whose roots are absent or empty."""
        for name in _list_enabled(subject):
            if "allowed_roots" not in BUILTIN_TOOLS[name].config:
                continue
            path = (*SETTINGS, name, "allowed_roots")
            if not subject.get(*path) and not subject.is_reported(path):
                message = f"the tool {name!r} names no `allowed_roots`, so it reaches the workspace folder only"
                hint = "list under `allowed_roots` the folders it may reach"
                yield Finding(self.code, path, message, self.severity, hint)


class ParsedShellCommand(Rule):
    """Commands of an enabled bash tool are parsed and run without a shell.

    Why: ADL's generator hands the text to `sh -c`, where a whitelisted `ls; rm x` would run both commands.
    Good: bash: {enabled: true, whitelist: [ls, git]}
    """

    code = "ADL-25"
    name = "parsed-shell-command"
    severity = Severity.INFO

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields an enabled bash tool, once."""
        if "bash" in _list_enabled(subject):
            message = "commands are parsed and run without a shell: no pipes, redirections or `;`"
            yield Finding(self.code, (*SETTINGS, "bash"), message, self.severity)
