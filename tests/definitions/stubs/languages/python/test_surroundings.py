"""What Python tools are given beside their input, as typed parameters."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.language import Project, Section, Service
from ferrule.definitions.stubs.languages.python.surroundings import (
    PythonSurroundings,
    list_imports,
    write_config,
    write_imports,
)
from tests.definitions.stubs.languages.plans import PROJECT, injected, plan_of, tool_plan


def around(*services: Service, sections: tuple[Section, ...] = PROJECT.sections) -> PythonSurroundings:
    return PythonSurroundings(plan_of(project=Project(name="x", version="1", services=services, sections=sections)))


def test_parameters_come_in_the_order_of_the_definition_each_once() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config", "shop", "gone", "config.gone"))
    assert [tuple(each) for each in PythonSurroundings(plan_of(tool)).function_parameters(tool)] == [
        ("shop", "Shop", "shop", "services.shop"),
        ("logger", "logging.Logger", "logger", ""),
        ("mail_config", "MailConfig", "config.mail", "tools._generated._config"),
        ("config", "Config", "config", "tools._generated._config"),
    ]


def test_a_service_called_like_a_parameter_gets_another_name() -> None:
    made = around(Service(name="input", interface="X", factory="NewX"))
    (parameter,) = made.function_parameters(tool_plan(inject=injected("input")))
    assert parameter.name != "input" and parameter.entry == "input"


@pytest.mark.parametrize(
    ("interface", "name", "factory"),
    [
        ("Shop", "Shop", "new_shop"),
        ("Config", "ConfigService", "new_config"),
        ("MailConfig", "MailConfigService", "new_mail_config"),
        ("", "Books", "new_books"),
    ],
)
def test_the_class_of_a_service_is_no_type_of_anything_else(interface: str, name: str, factory: str) -> None:
    found = around(Service(name="books", interface=interface, factory="")).services["books"]
    assert (found.interface, found.factory) == (name, factory)


def test_types_are_imported_from_where_they_are() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail"))
    own = list_imports(PythonSurroundings(plan_of(tool)).function_parameters(tool))
    assert write_imports(own, [("services.shop", "new_shop", "_make")]) == [
        "",
        "from services.shop import Shop",
        "from services.shop import new_shop as _make",
        "from tools._generated._config import MailConfig",
    ]


def test_settings_are_typed_dicts() -> None:
    values: dict[str, Any] = {"sender": "a", "retries": 3, "ratio": 0.5, "on": True, "servers": []}
    odd = Section(name="odd", settings={"class": 1})
    lines = write_config(around(sections=(Section(name="mail", settings=values), odd)))
    for line in ("class MailConfig(TypedDict):", "    retries: int", "    servers: Any", "    mail: MailConfig"):
        assert line in lines
    assert "OddConfig: TypeAlias = Mapping[str, Any]" in lines
    assert lines[:2] == ["from collections.abc import Mapping", "from typing import Any, TypeAlias, TypedDict"]


def test_sections_have_types_that_are_all_different() -> None:
    made = around(sections=tuple(Section(name=name, settings={}) for name in ("my-mail", "my_mail", "")))
    types = {each.type for each in made.sections.values()}
    assert len(types) == 3 and "Config" not in types
