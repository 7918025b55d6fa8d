"""Rules about the tools that an agent names, from worst to mildest. Each reference gets the findings of the first that fails.

Every step of `LADDER` is one rule; the next is asked only when the one before it had nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Protocol

from ferrule.definitions.rules.aml.links import LinkedAgent
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.effective import (
    CALL_READ_ONLY,
    DENY,
    READ_ONLY_TYPES,
    TOOL_ACCESS,
    RefEntry,
    access_of,
    bounds,
)
from ferrule.model.outline import ToolOutline


class ToolUse(NamedTuple):
    """One tool reference of one agent."""

    agent: LinkedAgent
    reference: RefEntry
    tool: ToolOutline | None
    """None when it is not found, or its file cannot be read."""

    def report(self, key: str, rule: str, message: str, severity: Severity, hint: str | None = None) -> Finding:
        """Returns a finding at a key of the entry."""
        return Finding(rule, (*self.reference.path, key), message, severity, hint)


class ReferenceRule(Protocol):
    """A rule about one reference to a tool."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str] = "0.1"

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns the defects of one use; empty when there are none."""
        ...


class UnresolvedTool(ReferenceRule):
    """Every tool an agent names has a file.

    Why: the agent would be promised a tool it can never call.
    Bad:  ref: send-mail, where the file is tools/send-email.tool.md
    Good: ref: send-email
    """

    code = "AML-91"
    name = "unresolved-tool"
    severity = Severity.ERROR

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns an error when there is no such tool."""
        ref = use.reference.ref
        if use.tool is not None or use.agent.links.has_tool(ref):
            return []
        hint = use.agent.links.suggest_tool(ref) or "add the tool's file, or remove the reference"
        return [use.report("ref", self.code, f"there is no tool {ref!r}", self.severity, hint)]


class DisabledTool(ReferenceRule):
    """No agent names a disabled tool, whatever its own status.

    Why: a disabled tool cannot be called; an agent built around it is broken.
    Bad:  ref: send-fax, while that tool has `status: disabled`
    Good: remove the reference, or enable the tool
    """

    code = "AML-78"
    name = "disabled-tool"
    severity = Severity.ERROR

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns an error when the tool is disabled."""
        if use.tool is None or use.tool.status != "disabled":
            return []
        message, hint = f"the tool {use.reference.ref!r} is disabled", "remove the reference, or enable the tool"
        return [use.report("ref", self.code, message, self.severity, hint)]


class UngrantedReference(ReferenceRule):
    """An agent uses only tools, knowledge bases and collections that its role grants. A list left out grants nothing.

    Why: the role is the ceiling security signed off; an agent file must not raise it.
    Bad:  an agent with ref: delete-account and a role that does not list it
    Good: remove the reference, or have the role's owner grant it
    """

    code = "AML-94"
    name = "ungranted-reference"
    severity = Severity.ERROR

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns an error when the role does not grant the tool."""
        return check_granted(use.agent, use.reference, "tools", "tool")


def check_granted(agent: LinkedAgent, reference: RefEntry, key: str, noun: str) -> list[Finding]:
    """Returns an error at a reference that the agent's role does not list."""
    grants = agent.find_grants(key)
    if grants is None or not grants.is_complete or grants.of(reference.ref):
        return []
    message = f"the role {agent.role_name!r} does not grant the {noun} {reference.ref!r}"
    hint = f"remove it here, or grant it under `{key}` of the role"
    return [Finding(UngrantedReference.code, (*reference.path, "ref"), message, hint=hint)]


class ForbiddenAccess(ReferenceRule):
    """An agent stays within the access its role gives: `call-read-only` lets only retrieval and function tools through,
    `deny` lets nothing through; writing needs a collection that takes it.

    Why: a grant names a tool and how far it may be used; the second half binds as much as the first.
    Bad:  a role with {ref: send-email, access: call-read-only}, while send-email is an action
    Good: {ref: send-email, access: call, approval_required: true}
    """

    code = "AML-96"
    name = "forbidden-access"
    severity = Severity.ERROR

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns an error when the role denies the tool, or grants only reading and the tool does more."""
        grants = use.agent.find_grants("tools")
        access = None if grants is None else access_of(grants.of(use.reference.ref), TOOL_ACCESS)
        name, role = use.reference.ref, use.agent.role_name
        if access == DENY:
            message = f"the role {role!r} denies the tool {name!r}"
            return [use.report("ref", self.code, message, self.severity, "remove it here, or have the role changed")]
        kind = None if use.tool is None else use.tool.type
        if access == CALL_READ_ONLY and kind is not None and kind not in READ_ONLY_TYPES:
            message = f"the role {role!r} grants {name!r} for reading only, but its type is {kind}"
            return [use.report("ref", self.code, message, self.severity, "ask for `access: call`, with an approval")]
        return []


class LoosenedLimit(ReferenceRule):
    """Members beside an agent's `ref` may tighten the limits of the tool and the role, never loosen them.

    Why: an approval or a limit set by the tool's owner or by security must hold in every agent.
    Bad:  {ref: send-email, approval_required: false}, while the tool requires approval
    Good: {ref: send-email, max_calls_per_run: 1}
    """

    code = "AML-92"
    name = "loosened-limit"
    severity = Severity.ERROR

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns an error at each override that is looser."""
        grants = use.agent.find_grants("tools")
        bound = bounds(use.tool, () if grants is None else grants.of(use.reference.ref))
        own = use.reference.limits
        found: list[Finding] = []
        if bound.approval_required and own.approval_required is False:
            message = f"{use.reference.ref!r} requires approval, and an agent cannot waive it"
            found.append(use.report("approval_required", self.code, message, self.severity, "remove this line"))
        limit, wanted = bound.max_calls_per_run, own.max_calls_per_run
        if limit is not None and wanted is not None and wanted > limit:
            message = f"{use.reference.ref!r} may be called {limit} times per run, and an agent cannot raise that"
            hint = f"write at most {limit}"
            found.append(use.report("max_calls_per_run", self.code, message, self.severity, hint))
        return found


class DeprecatedTool(ReferenceRule):
    """An agent should move away from tools that are deprecated.

    Why: they are kept for those who use them already, and will go.
    Bad:  ref: send-fax, while that tool has `status: deprecated`
    Good: ref: send-email
    """

    code = "AML-79"
    name = "deprecated-tool"
    severity = Severity.WARNING

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns a warning that quotes the note about what to do, where there is one."""
        if use.tool is None or use.tool.status != "deprecated":
            return []
        note = use.reference.notes or _find_migration_note(use.agent) or use.tool.notes
        message = f"the tool {use.reference.ref!r} is deprecated"
        hint = "move to the tool that replaces it"
        return [use.report("ref", self.code, f"{message}: {note}" if note else message, self.severity, hint)]


def _find_migration_note(agent: LinkedAgent) -> str | None:
    notes = agent.value.get("notes")
    if isinstance(notes, dict):
        notes = notes.get("migration_notes")
    return notes.strip() if isinstance(notes, str) and notes.strip() else None


class DraftTool(ReferenceRule):
    """An active agent or role does not count on a tool that is still a draft.

    Why: drafts are not served in production, so the agent would lack the tool there.
    Bad:  an active agent with ref: new-search, while that tool has `status: draft`
    Good: activate the tool first
    """

    code = "AML-80"
    name = "draft-tool"
    severity = Severity.WARNING

    def find_defects(self, use: ToolUse) -> list[Finding]:
        """Returns a warning when an active agent names a draft."""
        if use.agent.status != "active" or use.tool is None or use.tool.status != "draft":
            return []
        message = f"the tool {use.reference.ref!r} is a draft, which an active agent cannot use in production"
        return [use.report("ref", self.code, message, self.severity, "activate the tool, or leave it out until then")]


LADDER: tuple[ReferenceRule, ...] = (
    UnresolvedTool(),
    DisabledTool(),
    UngrantedReference(),
    ForbiddenAccess(),
    LoosenedLimit(),
    DeprecatedTool(),
    DraftTool(),
)


def check_tools(agent: LinkedAgent) -> Iterator[Finding]:
    """Yields for every tool an agent names the findings of the first rule that fails."""
    for reference in agent.list_tool_references():
        use = ToolUse(agent, reference, agent.links.find_tool(reference.ref))
        # Only the worst: whoever removes a reference to a disabled tool need not ask for a grant first.
        yield from next((found for step in LADDER if (found := step.find_defects(use))), ())
