"""What Python tools are given beside their input, as typed parameters."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.language import Project, Section, Service
from ferrule.definitions.stubs.languages.python.injection import (
    config_lines,
    import_lines,
    imports_of,
    parameters,
    section_types,
    services_of,
)
from tests.definitions.stubs.languages.plans import PROJECT, injected, tool_plan


def with_services(*services: Service) -> Project:
    return Project(name="x", version="1", services=services, sections=PROJECT.sections)


def test_parameters_come_in_the_order_of_the_definition_each_once() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config", "shop", "gone", "config.gone"))
    assert [tuple(each) for each in parameters(tool, PROJECT)] == [
        ("shop", "Shop", "shop", "services.shop"),
        ("logger", "logging.Logger", "logger", ""),
        ("mail_config", "MailConfig", "config.mail", "tools._generated._config"),
        ("config", "Config", "config", "tools._generated._config"),
        ("gone", "Any", "gone", ""),
        ("gone_config", "Mapping[str, Any]", "config.gone", ""),
    ]


def test_a_service_called_like_a_parameter_gets_another_name() -> None:
    project = with_services(Service(name="input", interface="X", factory="NewX"))
    (parameter,) = parameters(tool_plan(inject=injected("input")), project)
    assert parameter.name != "input" and parameter.entry == "input"


@pytest.mark.parametrize(
    ("interface", "name"),
    [("Shop", "Shop"), ("Config", "ConfigService"), ("MailConfig", "MailConfigService"), ("", "Books")],
)
def test_the_class_of_a_service_is_no_type_of_anything_else(interface: str, name: str) -> None:
    found = services_of(with_services(Service(name="books", interface=interface, factory="")))["books"]
    assert (found.interface, found.factory) == (name, "new_books")


def test_types_are_imported_from_where_they_are() -> None:
    given = parameters(tool_plan(inject=injected("shop", "logger", "config.mail", "config.gone")), PROJECT)
    standard, own = imports_of(given)
    assert standard == ["import logging", "from collections.abc import Mapping"]
    assert import_lines(own, [("services.shop", "new_shop", "_make")]) == [
        "",
        "from services.shop import Shop",
        "from services.shop import new_shop as _make",
        "from tools._generated._config import MailConfig",
    ]


def test_settings_are_typed_dicts() -> None:
    values: dict[str, Any] = {"sender": "a", "retries": 3, "ratio": 0.5, "on": True, "servers": []}
    odd = Section(name="odd", settings={"class": 1})
    lines = config_lines(Project(name="x", version="1", sections=(Section(name="mail", settings=values), odd)))
    for line in ("class MailConfig(TypedDict):", "    retries: int", "    servers: Any", "    mail: MailConfig"):
        assert line in lines
    assert "OddConfig: TypeAlias = Mapping[str, Any]" in lines
    assert lines[:2] == ["from collections.abc import Mapping", "from typing import Any, TypeAlias, TypedDict"]


def test_sections_have_types_that_are_all_different() -> None:
    sections = tuple(Section(name=name, settings={}) for name in ("my-mail", "my_mail", ""))
    names = section_types(Project(name="x", version="1", sections=sections))
    assert len(set(names.values())) == 3 and "Config" not in names.values()
