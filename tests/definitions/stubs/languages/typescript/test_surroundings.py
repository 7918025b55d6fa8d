"""What TypeScript tools are given, with the names that it has in source."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Section, Service
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings, access_section
from tests.definitions.stubs.languages.plans import injected, plan_of, tool_plan


def project(*services: Service, sections: tuple[Section, ...] = ()) -> Project:
    return Project(name="x", version="1", services=services, sections=sections)


def test_parameters_come_in_the_order_of_the_definition() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config"))
    found = TypeScriptSurroundings(plan_of(tool)).dependencies(tool)
    assert [(each.name, each.type, each.source) for each in found] == [
        ("shop", "Shop", "services/shop"),
        ("logger", "Logger", "ferrule/tool"),
        ("mailConfig", "MailConfig", "config"),
        ("config", "Config", "config"),
    ]


def test_a_service_hides_nothing_that_its_tool_has() -> None:
    tool = tool_plan(inject=injected("tools", "input"))
    made = project(
        Service(name="tools", interface="GetWeatherTool", factory="New"),
        Service(name="input", interface="Input", factory="NewInput"),
    )
    found = TypeScriptSurroundings(plan_of(tool, project=made))
    first, second = found.dependencies(tool)
    assert (first.type, first.source) == ("GetWeatherToolService", "services/tools")
    assert (second.name, second.type) == ("inputService", "Input")
    assert found.services["tools"].factory == "new_"


def test_a_section_is_reached_by_its_own_name() -> None:
    made = project(sections=(Section(name="my mail", settings={}),))
    (section,) = TypeScriptSurroundings(plan_of(project=made)).sections.values()
    assert (section.type, access_section(section)) == ("MyMailConfig", 'config["my mail"]')


def test_files_that_differ_in_case_alone_are_two() -> None:
    made = project(*(Service(name=name, interface="X", factory="NewX") for name in ("Shop", "shop")))
    files = [each.module for each in TypeScriptSurroundings(plan_of(project=made)).services.values()]
    assert files == ["Shop", "shop_service"]


@pytest.mark.parametrize("name", ["Config", "Logger"])
def test_a_service_is_never_called_what_every_file_imports(name: str) -> None:
    made = project(Service(name="x", interface=name, factory="NewX"))
    assert TypeScriptSurroundings(plan_of(project=made)).services["x"].interface == f"{name}Service"
