"""Looks up the references of agents and roles for the cross-file rules of this folder. Knows nothing of findings."""

from __future__ import annotations

from ferrule.definitions.rules.aml.agent_fields import is_tool_definition
from ferrule.definitions.rules.aml.misnamed_definition import get_stem
from ferrule.model.effective import Grants, RefEntry, references
from ferrule.model.hints import nearest
from ferrule.model.outline import AgentOutline, Library, RoleOutline, ToolOutline, newest
from ferrule.model.value import JsonObject, is_blank

_COMPARISONS = 20_000
"""How many names are compared for hints; a workspace full of broken references needs no hint for each."""


class Links:
    """The tools, roles and guardrails of one library, by name."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._roles = _index_roles(self.list_roles())
        self._grants: dict[tuple[str, str], Grants] = {}
        self._guesses: dict[tuple[str, str], str | None] = {}
        self._tool_names: list[str] | None = None

    def list_agents(self) -> list[AgentOutline]:
        """Returns every agent, also one whose id is wrong."""
        return [outline for outline in self.library.outlines if isinstance(outline, AgentOutline)]

    def list_roles(self) -> list[RoleOutline]:
        """Returns every role, also one whose id is wrong."""
        return [outline for outline in self.library.outlines if isinstance(outline, RoleOutline)]

    def find_tool(self, ref: str) -> ToolOutline | None:
        """Returns the AML tool of this id, if its file can be read; of several the newest whose file is named for it."""
        group = self.library.tools.get(ref)
        if group is not None and len(group) > 1:
            named = [tool for tool in group if tool.dialect == "aml" and get_stem(tool.file, ".tool.md") == ref]
            if named:
                return newest(named)
        return self.library.aml_tool(ref)

    def find_role(self, name: str) -> RoleOutline | None:
        """Returns the role of this id, if its file can be read; of several the one whose file is named for it."""
        return self._roles.get(name)

    def has_tool(self, ref: str) -> bool:
        """Returns True when there is such a tool, or a file of that name that cannot be read."""
        return self.find_tool(ref) is not None or ("tool", ref) in self.library.broken

    def has_role(self, name: str) -> bool:
        """Returns True when there is such a role, or a file of that name that cannot be read."""
        return name in self._roles or ("role", name) in self.library.broken

    def find_grants(self, role: RoleOutline, key: str) -> Grants:
        """Returns a role's grants of one kind; computed once."""
        known = self._grants.get((role.file, key))
        if known is None:
            known = self._grants[role.file, key] = Grants(role.value, key)
        return known

    def suggest_tool(self, ref: str) -> str | None:
        """Returns a hint that names the nearest tool."""
        if self._tool_names is None:
            tools = self.library.tools.items()
            self._tool_names = [name for name, group in tools if any(tool.dialect == "aml" for tool in group)]
        return self._suggest("tool", ref, self._tool_names)

    def suggest_role(self, name: str) -> str | None:
        """Returns a hint that names the nearest role."""
        return self._suggest("role", name, list(self._roles))

    def suggest_guardrail(self, name: str) -> str | None:
        """Returns a hint that names the nearest guardrail."""
        return self._suggest("guardrail", name, list(self.library.guardrails or ()))

    def _suggest(self, kind: str, name: str, known: list[str]) -> str | None:
        if (kind, name) not in self._guesses:
            if len(self._guesses) >= max(3, _COMPARISONS // (len(known) or 1)):
                return None
            self._guesses[kind, name] = nearest(name, known)
        return self._guesses[kind, name]


def _index_roles(roles: list[RoleOutline]) -> dict[str, RoleOutline]:
    found: dict[str, RoleOutline] = {}
    for role in roles:
        if role.iam_id is not None and (role.iam_id not in found or get_stem(role.file, ".iam.md") == role.iam_id):
            found[role.iam_id] = role
    return found


class LinkedAgent:
    """An agent with its role looked up."""

    __slots__ = ("links", "outline", "role", "status", "value")

    def __init__(self, links: Links, outline: AgentOutline) -> None:
        self.links = links
        self.outline = outline
        self.value: JsonObject = outline.value
        self.status = self.value.get("status")
        self.role = self._find_role()
        """The role whose grants count. None when there is none, it is disabled, or its file cannot be read."""

    @property
    def role_name(self) -> str | None:
        """The role as written, if it is a name at all."""
        name = self.value.get("role")
        return name if isinstance(name, str) and not is_blank(name) else None

    def list_tool_references(self) -> list[RefEntry]:
        """Its readable tool references; definitions put among them are left out."""
        return [entry for entry in references(self.value, "tools").entries if not is_tool_definition(entry.entry)]

    def find_grants(self, key: str) -> Grants | None:
        """Returns its role's grants of one kind; None without a usable role."""
        return None if self.role is None else self.links.find_grants(self.role, key)

    def _find_role(self) -> RoleOutline | None:
        name = self.role_name
        role = None if name is None else self.links.find_role(name)
        return None if role is None or role.value.get("status") == "disabled" else role
