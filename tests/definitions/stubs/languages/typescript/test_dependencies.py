"""What TypeScript tools are given, with the names that it has in source."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Section, Service
from ferrule.definitions.stubs.languages.typescript.dependencies import Dependencies
from tests.definitions.stubs.languages.plans import injected, plan_of, tool_plan


def project(*services: Service, sections: tuple[Section, ...] = ()) -> Project:
    return Project(name="x", version="1", services=services, sections=sections)


def test_parameters_come_in_the_order_of_the_definition() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config"))
    found = Dependencies(plan_of(tool)).of(tool)
    assert [(each.name, each.type, each.source) for each in found] == [
        ("shop", "Shop", "services/shop"),
        ("logger", "Logger", "ferrule/tool"),
        ("mailConfig", "MailConfig", "config"),
        ("config", "Config", "config"),
    ]


def test_a_type_that_the_file_has_already_gets_another_name() -> None:
    tool = tool_plan(inject=injected("tools", "input"))
    made = project(
        Service(name="tools", interface="GetWeatherTool", factory="New"),
        Service(name="input", interface="Input", factory="NewInput"),
    )
    found = Dependencies(plan_of(tool, project=made))
    first, second = found.of(tool)
    assert (first.type, first.imported) == ("GetWeatherToolService", "GetWeatherTool as GetWeatherToolService")
    assert (second.name, second.type) == ("inputService", "Input")
    assert found.services[0].factory == "newService"


def test_what_the_agent_file_does_not_declare_is_made_up() -> None:
    tool = tool_plan(inject=injected("book store", "config.my mail"))
    found = Dependencies(plan_of(tool, project=project()))
    (service,), (section,) = found.services, found.sections
    assert (service.file, service.interface, service.factory) == ("bookStore", "BookStore", "newBookStore")
    assert (section.type, section.access) == ("MyMailConfig", 'config["my mail"]')


def test_only_services_that_tools_are_given_are_needed() -> None:
    tool = tool_plan(inject=injected("a"))
    made = project(*(Service(name=name, interface=name.upper(), factory=f"New{name}") for name in "ab"))
    found = Dependencies(plan_of(tool, project=made))
    assert [each.file for each in found.services] == ["a", "b"]
    assert [each.file for each in found.needed] == ["a"]


def test_files_that_differ_in_case_alone_are_two() -> None:
    made = project(*(Service(name=name, interface="X", factory="NewX") for name in ("Shop", "shop")))
    files = [each.file for each in Dependencies(plan_of(project=made)).services]
    assert files == ["Shop", "shop_service"]


@pytest.mark.parametrize("name", ["Config", "Logger"])
def test_a_service_is_never_called_what_every_file_imports(name: str) -> None:
    made = project(Service(name="x", interface=name, factory="NewX"))
    assert Dependencies(plan_of(project=made)).services[0].interface == f"{name}Service"
