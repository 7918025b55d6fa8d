"""Rules about an agent's references to files other than its tools (role, knowledge, guardrails), and its observability."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import Rule
from ferrule.definitions.rules.aml.idle_safeguard import IdleSafeguard
from ferrule.definitions.rules.aml.links import LinkedAgent
from ferrule.definitions.rules.aml.tool_references import ForbiddenAccess, check_granted
from ferrule.definitions.rules.aml.weak_agent import WeakAgent
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.effective import COLLECTION_ACCESS, DENY, KNOWLEDGE_ACCESS, access_of, references
from ferrule.model.value import Path

_GRANTED = (
    ("knowledge", "knowledge_bases", "knowledge base", KNOWLEDGE_ACCESS),
    ("collections", "collections", "collection", COLLECTION_ACCESS),
)
"""The agent's key, the role's key, the noun for messages, and the words of access."""


class UnusableRole(Rule):
    """An agent names one role, and that role exists and is not disabled.

    Why: the role is the ceiling of what the agent may do; without it nothing bounds the agent.
    Bad:  no `role`, or one whose file does not exist
    Good: role: support-role
    """

    code = "AML-93"
    name = "unusable-role"
    severity = Severity.ERROR


def check_role(agent: LinkedAgent) -> Iterator[Finding]:
    """Yields defects of the role an agent names."""
    name, links, rule = agent.role_name, agent.links, UnusableRole.code
    if name is None:
        return
    if not links.has_role(name):
        hint = links.suggest_role(name) or f"add iam/{name}.iam.md, or name a role that exists"
        yield Finding(rule, ("role",), f"there is no role {name!r}", hint=hint)
        return
    role = links.find_role(name)
    status = None if role is None else role.value.get("status")
    if status == "disabled":
        yield Finding(rule, ("role",), f"the role {name!r} is disabled", hint="name another role, or enable this one")
    elif status == "deprecated":
        yield Finding(rule, ("role",), f"the role {name!r} is deprecated", Severity.WARNING, "move to another role")


def check_knowledge(agent: LinkedAgent) -> Iterator[Finding]:
    """Yields knowledge bases and collections that the role does not grant, or denies."""
    for key, granted, noun, words in _GRANTED:
        grants = agent.find_grants(granted) if key in agent.value else None
        if grants is None:
            continue
        for reference in references(agent.value, key).entries:
            found = check_granted(agent, reference, granted, noun)
            yield from found
            if not found and access_of(grants.of(reference.ref), words) == DENY:
                message = f"the role {agent.role_name!r} denies the {noun} {reference.ref!r}"
                yield Finding(ForbiddenAccess.code, (*reference.path, "ref"), message, hint="remove it here")


def check_guardrails(agent: LinkedAgent) -> Iterator[Finding]:
    """Yields guardrails that no file of the guardrails folder defines; none when the workspace has no such folder."""
    known = agent.links.library.guardrails
    if known is None:
        return
    for path, guardrail in _list_guardrails(agent.value.get("guardrails"), ("guardrails",)):
        if guardrail not in known:
            message = f"there is no guardrail {guardrail!r}"
            hint = agent.links.suggest_guardrail(guardrail) or "add its file to `guardrails`, or remove it here"
            yield Finding(IdleSafeguard.code, path, message, hint=hint)


def _list_guardrails(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Yields every guardrail an agent names: lists of `{ref}` by the point at which they run (`input`, `output`, …)."""
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, list):
                yield from _list_guardrails(member, (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            if isinstance(entry, str):
                yield (*path, index), entry
            elif isinstance(entry, dict):
                key = "ref" if "ref" in entry else "id"
                if isinstance(entry.get(key), str):
                    yield (*path, index, key), entry[key]


def check_observability(agent: LinkedAgent) -> Iterator[Finding]:
    """Yields an agent that acts on the world and is not observed."""
    if agent.value.get("observability") is not None:
        return
    for reference in agent.list_tool_references():
        tool = agent.links.find_tool(reference.ref)
        if tool is not None and tool.type == "action":
            message = f"the agent has no `observability`, although {reference.ref!r} acts on the world"
            yield Finding(WeakAgent.code, ("observability",), message, Severity.WARNING, "add an `observability` block")
            return
