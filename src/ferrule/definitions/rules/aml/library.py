"""Rules about several AML files at once. References are looked up only in a whole workspace; one file alone is not blamed
for what it cannot see."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.rule import LibraryFinding, LibraryRule, RuleSettings
from ferrule.definitions.rules.aml.agent_links import (
    check_guardrails,
    check_knowledge,
    check_observability,
    check_role,
)
from ferrule.definitions.rules.aml.links import LinkedAgent, Links
from ferrule.definitions.rules.aml.misnamed_definition import TOOL_LIBRARY_RULES, DuplicateDefinitionId
from ferrule.definitions.rules.aml.role_links import check_collections, check_grants
from ferrule.definitions.rules.aml.tool_references import check_tools
from ferrule.model.diagnostic import Severity
from ferrule.model.outline import Library

_OF_AGENTS = (check_role, check_tools, check_knowledge, check_guardrails, check_observability)
_OF_ROLES = (check_grants, check_collections)


class AgentReferences(LibraryRule):
    """Agents against the tools, roles and guardrails they name."""

    code = "AML-91"
    name = "unresolved-tool"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields every finding on an agent that needs another file."""
        # In a check of single files, the definition that looks missing may be in a file that was not given.
        if not library.is_closed:
            return
        links = Links(library)
        for agent in links.list_agents():
            linked = LinkedAgent(links, agent)
            for findings in _OF_AGENTS:
                for finding in findings(linked):
                    yield LibraryFinding(agent, finding)


class RoleReferences(LibraryRule):
    """Roles against the tools and collections they grant."""

    code = "AML-95"
    name = "incomplete-role"
    severity = Severity.ERROR

    def check(self, library: Library, settings: RuleSettings) -> Iterator[LibraryFinding]:
        """Yields every finding on a role that needs another file."""
        if not library.is_closed:
            return
        links = Links(library)
        for role in links.list_roles():
            for findings in _OF_ROLES:
                for finding in findings(links, role):
                    yield LibraryFinding(role, finding)


LIBRARY_RULES: tuple[LibraryRule, ...] = (
    *TOOL_LIBRARY_RULES,
    DuplicateDefinitionId(),
    AgentReferences(),
    RoleReferences(),
)
