"""What all stubs of a run share: the agent file they come from, or the workspace."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.errors import WorkspaceError
from tests.definitions.stubs.planning import planned
from tests.definitions.stubs.tools import manifest, tool


def test_a_project_is_its_agent_file() -> None:
    agent = manifest(
        language={"go": {"module": "books.example/clerk"}},
        services={"shop": {"type": "client", "interface": "Shop", "factory": "NewShop", "description": "Books"}},
        config={"mail": {"from": "${MAIL_FROM}"}, "tools": {"read": {"enabled": True}}},
    )
    project = planned(tool(namespace="clerk", dialect="adl"), manifests=[agent, manifest("other")]).project
    assert (project.name, project.version, project.module) == ("clerk", "0.3.0", "books.example/clerk")
    assert [(each.name, each.interface, each.factory) for each in project.services] == [("shop", "Shop", "NewShop")]
    assert [(each.name, each.settings) for each in project.sections] == [("mail", {"from": "${MAIL_FROM}"})]


@pytest.mark.parametrize("module", ["a\nreplace x => y", "a b", 'a"', "", "-x", 4])
def test_a_module_that_is_no_name_does_not_count(module: object) -> None:
    agent = manifest(language={"go": {"module": module}})
    assert planned(tool(namespace="clerk", dialect="adl"), manifests=[agent]).project.module == ""


def test_tools_without_an_agent_file_are_of_the_workspace() -> None:
    project = planned(tool()).project
    assert (project.name, project.module, project.services) == ("books", "", ())


def test_two_agents_that_mean_different_things_are_not_mixed() -> None:
    def agent(name: str, factory: str) -> Any:
        return manifest(name, services={"shop": {"interface": "Shop", "factory": factory}})

    tools = [tool(namespace=name, dialect="adl") for name in ("a", "b")]
    assert len(planned(*tools, manifests=[agent("a", "NewShop"), agent("b", "NewShop")]).project.services) == 1
    with pytest.raises(WorkspaceError, match="--agent"):
        planned(*tools, manifests=[agent("a", "NewShop"), agent("b", "OpenShop")])
    assert planned(*tools, manifests=[agent("a", "A"), agent("b", "B")], kind="client").project.services == ()
