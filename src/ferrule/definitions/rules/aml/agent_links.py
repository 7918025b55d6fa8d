"""What an agent says about files other than its tools: its role, its knowledge, its guardrails, and whether it is watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ferrule.definitions.rules.aml.links import LinkedAgent
from ferrule.definitions.rules.aml.tool_references import ForbiddenAccess, ungranted
from ferrule.definitions.rules.aml.undeclared_confirmation import UndeclaredConfirmation
from ferrule.definitions.rules.aml.weak_agent import WeakAgent
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.effective import COLLECTION_ACCESS, DENY, KNOWLEDGE_ACCESS, access_of, references
from ferrule.model.value import Path

_GRANTED = (
    ("knowledge", "knowledge_bases", "knowledge base", KNOWLEDGE_ACCESS),
    ("collections", "collections", "collection", COLLECTION_ACCESS),
)
"""Where an agent names a thing, where its role grants it, what it is called, and the words of access."""


class UnusableRole:
    """An agent names one role, and that role exists and is not disabled.

    Why: the role is the ceiling of what the agent may do; without it nothing bounds the agent.
    Bad:  no `role`, or one whose file does not exist
    Good: role: support-role
    """

    code: ClassVar[str] = "AML-93"
    name: ClassVar[str] = "unusable-role"
    severity: ClassVar[Severity] = Severity.ERROR
    since: ClassVar[str] = "0.1"


def role_findings(agent: LinkedAgent) -> Iterator[Finding]:
    """What is wrong with the role an agent names."""
    name, links, rule = agent.role_name, agent.links, UnusableRole.code
    if name is None:
        return
    if not links.has_role(name):
        hint = links.near_role(name) or f"add iam/{name}.iam.md, or name a role that exists"
        yield Finding(rule, ("role",), f"there is no role {name!r}", hint=hint)
        return
    role = links.role(name)
    status = None if role is None else role.value.get("status")
    if status == "disabled":
        yield Finding(rule, ("role",), f"the role {name!r} is disabled", hint="name another role, or enable this one")
    elif status == "deprecated":
        yield Finding(rule, ("role",), f"the role {name!r} is deprecated", Severity.WARNING, "move to another role")


def knowledge_findings(agent: LinkedAgent) -> Iterator[Finding]:
    """Knowledge bases and collections that the role does not grant, or denies."""
    for key, granted, noun, words in _GRANTED:
        grants = agent.grants(granted) if key in agent.value else None
        if grants is None:
            continue
        for reference in references(agent.value, key).entries:
            found = ungranted(agent, reference, granted, noun)
            yield from found
            if not found and access_of(grants.of(reference.ref), words) == DENY:
                message = f"the role {agent.role_name!r} denies the {noun} {reference.ref!r}"
                yield Finding(ForbiddenAccess.code, (*reference.path, "ref"), message, hint="remove it here")


def guardrail_findings(agent: LinkedAgent) -> Iterator[Finding]:
    """Guardrails that no file of the guardrails folder defines; nothing when the workspace has no such folder."""
    known = agent.links.library.guardrails
    if known is None:
        return
    for path, guardrail in _guardrails(agent.value.get("guardrails"), ("guardrails",)):
        if guardrail not in known:
            message = f"there is no guardrail {guardrail!r}"
            hint = agent.links.near_guardrail(guardrail) or "add its file to `guardrails`, or remove it here"
            yield Finding(UndeclaredConfirmation.code, path, message, hint=hint)


def _guardrails(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every guardrail an agent names: lists of `{ref}` by the point at which they run (`input`, `output`, …)."""
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, list):
                yield from _guardrails(member, (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            if isinstance(entry, str):
                yield (*path, index), entry
            elif isinstance(entry, dict):
                key = "ref" if "ref" in entry else "id"
                if isinstance(entry.get(key), str):
                    yield (*path, index, key), entry[key]


def observability_findings(agent: LinkedAgent) -> Iterator[Finding]:
    """An agent that acts on the world and is not observed."""
    if agent.value.get("observability") is not None:
        return
    for reference in agent.tool_references():
        tool = agent.links.tool(reference.ref)
        if tool is not None and tool.type == "action":
            message = f"the agent has no `observability`, although {reference.ref!r} acts on the world"
            yield Finding(WeakAgent.code, ("observability",), message, Severity.WARNING, "add an `observability` block")
            return
