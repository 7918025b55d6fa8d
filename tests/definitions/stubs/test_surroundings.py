"""Names of what tools are given, and the environment's part in settings."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project
from ferrule.definitions.stubs.identifiers import Style, camel, identifiers, pascal
from ferrule.definitions.stubs.surroundings import Naming, ToolSurroundings, Variable, has_variables, split_setting
from tests.definitions.stubs.languages.plans import injected, plan_of, tool_plan

CAMEL = Style(camel)
NAMING = Naming(CAMEL, Style(pascal), CAMEL, CAMEL, lambda names: identifiers(names, CAMEL))


def test_settings_are_needed_only_where_somebody_uses_them() -> None:
    bare = Project(name="x", version="1")
    assert not ToolSurroundings(plan_of(tool_plan(inject=injected("logger")), project=bare), NAMING).needs_config
    assert ToolSurroundings(plan_of(tool_plan(inject=injected("config")), project=bare), NAMING).needs_config
    assert ToolSurroundings(plan_of(), NAMING).needs_config


def test_only_services_that_tools_are_given_are_made() -> None:
    assert ToolSurroundings(plan_of(tool_plan()), NAMING).used == []
    given = ToolSurroundings(plan_of(tool_plan(inject=injected("shop"))), NAMING)
    assert [(each.interface, each.factory, each.variable) for each in given.used] == [("Shop", "newShop", "shop")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("$HOME", [Variable("HOME", None)]),
        ("a $HOME", ["a $HOME"]),
        ("${A}/${B:-b}", [Variable("A", None), "/", Variable("B", "b")]),
        ("${A-}", [Variable("A", "")]),
        ("", [""]),
        (3, []),
    ],
)
def test_a_setting_is_split_at_its_variables(text: str | int, parts: list[object]) -> None:
    assert split_setting(text) == parts
    assert has_variables({"a": [text]}) == any(isinstance(each, Variable) for each in parts)
