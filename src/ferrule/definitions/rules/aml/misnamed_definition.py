"""Rules about tools, agents and roles whose file is named for something else, and about ids that two files claim.

`library.py` joins those that need several files with the other library rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import LibraryFinding, LibraryRule, Rule, RuleSettings, Subject
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.outline import AgentOutline, Library, RoleOutline


def get_stem(file: str, suffix: str) -> str:
    """Returns a file's name without its folder and ending."""
    name = file.rsplit("/", 1)[-1]
    return name.removesuffix(suffix) if name.endswith(suffix) else name.removesuffix(".md")


class MisnamedAgent(Rule):
    """An agent's file is named for its id.

    Why: references are resolved by id, and people look for files by name.
    Bad:  agents/helper.agent.md with `agent_id: support-agent`
    Good: agents/support-agent.agent.md
    """

    code = "AML-89"
    name = "incomplete-agent"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a warning at the id that differs from the file's name."""
        return _check_name(self.code, "agent_id", ".agent.md", subject)


class MisnamedRole(Rule):
    """A role's file is named for its id.

    Why: references are resolved by id, and people look for files by name.
    Bad:  iam/helper.iam.md with `iam_id: support-role`
    Good: iam/support-role.iam.md
    """

    code = "AML-95"
    name = "incomplete-role"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a warning at the id that differs from the file's name."""
        return _check_name(self.code, "iam_id", ".iam.md", subject)


def _check_name(code: str, key: str, suffix: str, subject: Subject) -> Iterator[Finding]:
    identifier = subject.get(key)
    if isinstance(identifier, str) and (stem := get_stem(subject.document.source.file, suffix)) != identifier:
        message = f"`{key}` is {identifier!r} but the file is named {stem!r}"
        yield Finding(code, (key,), message, Severity.WARNING, f"rename the file to {identifier}{suffix}")


class DuplicateDefinitionId(LibraryRule):
    """An id belongs to one file.

    Why: a reference to an id that two files define is a guess.
    Bad:  agents/a-bot.agent.md and agents/b-bot.agent.md, both with `agent_id: a-bot`
    Good: one file per id
    """

    code = "AML-89"
    name = "incomplete-agent"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields an error at the id of the misnamed file, or of the later one."""
        if not library.is_closed:
            return
        agents = [outline for outline in library.outlines if isinstance(outline, AgentOutline)]
        yield from _check_repeated("AML-89", "agent_id", ".agent.md", [(agent, agent.agent_id) for agent in agents])
        roles = [outline for outline in library.outlines if isinstance(outline, RoleOutline)]
        yield from _check_repeated("AML-95", "iam_id", ".iam.md", [(role, role.iam_id) for role in roles])


def _check_repeated(
    code: str,
    key: str,
    suffix: str,
    defined: list[tuple[AgentOutline, str | None]] | list[tuple[RoleOutline, str | None]],
) -> Iterator[LibraryFinding]:
    owners: dict[str, list[AgentOutline | RoleOutline]] = {}
    for outline, identifier in defined:
        if identifier is not None:
            owners.setdefault(identifier, []).append(outline)
    for identifier, claimants in owners.items():
        if len(claimants) == 1:
            continue
        owner = next((one for one in claimants if get_stem(one.file, suffix) == identifier), claimants[0])
        for claimant in claimants:
            if claimant is not owner:
                message = f"`{key}` {identifier!r} is already defined in {owner.file}"
                yield LibraryFinding(claimant, Finding(code, (key,), message, hint="give each file its own id"))


SUFFIX = ".tool.md"


class MisnamedToolFile(Rule):
    """A tool's file is named for its id: `tools/<tool_id>.tool.md`.

    Why: people look a tool up by the name agents use; a second file with the same id makes the misnamed one an error.
    Bad:  `tools/mail.tool.md` with `tool_id: send-email`
    Good: `tools/send-email.tool.md` with `tool_id: send-email`
    """

    code = "AML-1"
    name = "misnamed-tool-file"
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at `tool_id` when the file is named differently."""
        tool_id, file = subject.get("tool_id"), subject.document.source.file
        if isinstance(tool_id, str) and is_misnamed(file, tool_id):
            message = f"`tool_id` is {tool_id!r} but the file is named {get_stem(file, SUFFIX)!r}"
            hint = f"rename the file to {tool_id + SUFFIX!r}"
            yield Finding(self.code, ("tool_id",), message, self.severity, hint)


def is_misnamed(file: str, tool_id: str) -> bool:
    """Returns True when the last part of a path is not the tool's."""
    return get_stem(file, SUFFIX) != tool_id


class SharedToolId(LibraryRule):
    """A misnamed tool file is an error when another file has the same id, because nothing tells which one is meant.

    Bad:  `tools/send-email.tool.md` and `tools/copy.tool.md`, both with `tool_id: send-email`
    Good: one file per id, named for it
    """

    code = "AML-1"
    name = "misnamed-tool-file"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields a finding on each misnamed file whose id several files have."""
        for tool_id, outlines in library.tools.items():
            if len(outlines) < 2:
                continue
            tools = [outline for outline in outlines if outline.dialect == "aml"]
            if len({tool.file for tool in tools}) < 2:
                continue
            owner = next((tool for tool in tools if not is_misnamed(tool.file, tool_id)), tools[0])
            for tool in tools:
                if is_misnamed(tool.file, tool_id):
                    other = owner if owner is not tool else tools[1]
                    yield LibraryFinding(tool, _report_shared(tool.file, tool_id, other.file))


def _report_shared(file: str, tool_id: str, other: str) -> Finding:
    message = f"`tool_id` is {tool_id!r}, as in {other}, but this file is named {get_stem(file, SUFFIX)!r}"
    return Finding(SharedToolId.code, ("tool_id",), message, hint="give this tool an id of its own, or remove the file")


TOOL_LIBRARY_RULES: tuple[LibraryRule, ...] = (SharedToolId(),)
