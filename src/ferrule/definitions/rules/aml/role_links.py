"""Rules about a role's references to other files: the tools it grants and the collections it lets agents write to."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.definitions.rules.aml.links import Links
from ferrule.definitions.rules.aml.tool_references import DraftTool, ForbiddenAccess
from ferrule.definitions.rules.aml.weak_role import WeakRole
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.effective import CALL, TOOL_ACCESS, RefEntry, access_of, references
from ferrule.model.outline import RoleOutline, ToolOutline

_BROKEN_GRANT = "AML-95"
_WRITING = ("write", "read-write")


def check_grants(links: Links, role: RoleOutline) -> Iterator[Finding]:
    """Yields the worst defect of each grant of a tool."""
    for grant in references(role.value, "tools").entries:
        finding = _check_grant(links, role, grant)
        if finding is not None:
            yield finding


def _check_grant(links: Links, role: RoleOutline, grant: RefEntry) -> Finding | None:
    path, name = (*grant.path, "ref"), grant.ref
    tool = links.find_tool(name)
    if tool is None:
        if links.has_tool(name):
            return None
        hint = links.suggest_tool(name) or "add the tool's file, or remove the grant"
        return Finding(_BROKEN_GRANT, path, f"there is no tool {name!r}", hint=hint)
    if tool.status == "disabled":
        return Finding(
            _BROKEN_GRANT, path, f"the tool {name!r} is disabled", hint="remove the grant, or enable the tool"
        )
    if _is_unguarded(grant, tool):
        message = f"{name!r} acts on the world, and this grant does not ask for approval"
        return Finding(WeakRole.code, path, message, Severity.WARNING, "add `approval_required: true`")
    if tool.status == "draft" and role.value.get("status") == "active":
        message = f"the tool {name!r} is a draft, which cannot be used in production"
        return Finding(DraftTool.code, path, message, Severity.WARNING, "activate the tool, or grant it later")
    return None


def _is_unguarded(grant: RefEntry, tool: ToolOutline) -> bool:
    if tool.type != "action" or access_of((grant,), TOOL_ACCESS) != CALL or tool.approval_required:
        return False
    approval = grant.limits.approval_required
    return approval is False or (approval is None and "approval_required" not in grant.entry)


def check_collections(links: Links, role: RoleOutline) -> Iterator[Finding]:
    """Yields grants to write to a collection that accepts no writes."""
    for grant in references(role.value, "collections").entries:
        if grant.entry.get("access") not in _WRITING:
            continue
        collection = links.library.records.get(("collection", grant.ref))
        if collection is not None and collection.refs.get("writeback") == "off":
            message = f"the collection {grant.ref!r} takes no writes: its writeback is off"
            yield Finding(ForbiddenAccess.code, (*grant.path, "ref"), message, hint="grant `access: read`")
