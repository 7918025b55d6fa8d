"""ruff and mypy, with their own settings, have nothing to say about generated code."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from ferrule.contracts.language import Injected, Project, Section, Service
from ferrule.definitions.stubs.languages.python.language import LANGUAGE
from ferrule.definitions.stubs.languages.python.source_text import comment, docstring, literal, plain_lines, quoted
from tests.definitions.stubs.languages import toolchains
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.python.random_tools import TEXTS, hostile, text_of
from tests.definitions.stubs.languages.python.workbench import (
    FLAVOURS,
    Given,
    checked_by_mypy,
    plan_of,
    ruff_objects,
    write,
    written,
)

_CIRCLES = {
    "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
    "first": {"type": "array", "items": {"$ref": "#/$defs/second"}},
    "second": {"type": "object", "additionalProperties": {"$ref": "#/$defs/first"}},
    "json": {
        "anyOf": [
            {"type": ["string", "number", "null"]},
            {"type": "array", "items": {"$ref": "#/$defs/json"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
        ]
    },
}
"""Types that need themselves and are no records."""
_CIRCULAR = {
    "type": "object",
    "properties": {name: {"$ref": f"#/$defs/{name}"} for name in _CIRCLES},
    "$defs": _CIRCLES,
}
_GIVEN = [
    *(Given(case.name, case.schema, case.schema) for case in CASES),
    Given("circles", _CIRCULAR, _CIRCULAR),
    Given("circle", {"$ref": "#/$defs/json", "$defs": _CIRCLES}, {"$ref": "#/$defs/tree", "$defs": _CIRCLES}),
]


def _random(seed: int, count: int) -> list[Given]:
    chance = Random(seed)
    made = [hostile(chance, f"tool{number}{'_and_more' * (number % 8)}") for number in range(count - 1)]
    return [*made, Given("class", {"type": "object", "description": text_of(chance)})]


@pytest.mark.parametrize("text", [*TEXTS, *("".join(pair) for pair in pairwise(TEXTS))])
def test_a_text_stays_what_it_is(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text
    assert quoted(text).isprintable()
    source = "\n".join(
        ["class A:", *docstring(plain_lines(text), "    "), *comment(plain_lines(text), "    "), "    x = 1"]
    )
    (declared,) = ast.parse(source).body
    assert isinstance(declared, ast.ClassDef)
    assert [type(each) for each in declared.body[-1:]] == [ast.Assign]
    assert len(declared.body) <= 2
    assert "\u202e" not in source
    assert "\x00" not in source


def test_values_are_written_as_python_has_them() -> None:
    assert [literal(each) for each in ("a", 'a"b', 1, True, None, 2.5)] == ['"a"', "'a\"b'", "1", "True", "None", "2.5"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ruff_leaves_stubs_alone(tmp_path: Path, flavour: str) -> None:
    write(tmp_path / "catalog", written(_GIVEN, flavour))
    write(tmp_path / "random", written(_random(FLAVOURS.index(flavour), 25), flavour))
    assert ruff_objects(tmp_path) == ""


_PROJECT = Project(
    name='an agent " of \\ many',
    version="1.2.3",
    description='Ends """ here',
    services=(
        Service(name="orderRepo", interface="OrderRepo", factory="NewOrderRepo", description='Orders """'),
        Service(name="import", interface="None", factory="Class"),
    ),
    sections=(Section(name="reports", settings={"currency": "EUR", "a-b": 1, "on": True, "list": [1], "deep": {}}),),
)
_INJECTED = (
    Injected("logger"),
    Injected("service", "orderRepo"),
    Injected("service", "import"),
    Injected("section", "reports"),
    Injected("section", "unknown"),
    Injected("config"),
)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_projects_are_left_alone_too(tmp_path: Path, flavour: str) -> None:
    nothing = [Given("gives_nothing", _GIVEN[0].schema, null) for null in ({"type": "null"}, {"enum": [None]})]
    given = [*_random(7, 8), *_GIVEN[:3], *nothing]
    plan = plan_of(given, flavour, kind="implementation", project=_PROJECT)
    tools = tuple(replace(tool, inject=_INJECTED) if at % 2 else tool for at, tool in enumerate(plan.tools))
    write(tmp_path, LANGUAGE.write(replace(plan, tools=tools, is_project=True)))
    assert ruff_objects(tmp_path) == ""
    if flavour == "msgspec":
        assert checked_by_mypy(tmp_path, "tools", "services", "tests") == (0, "")


def _bound(text: str) -> set[str]:
    """The names that a module has without saying of what tool they are."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(each.asname or each.name for each in node.names)
        elif isinstance(node, ast.Name | ast.arg):
            found.add(node.id if isinstance(node, ast.Name) else node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
    return {name for name in found if name.islower() and not name.startswith("_")}


def test_a_tool_may_be_called_like_anything_in_its_stubs(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    plain = [Given("t", schema, schema), Given("u", schema)]
    project = replace(_PROJECT, services=(Service(name="repo", interface="Repo", factory="NewRepo"),))
    names: set[str] = {"con", "nul", "com1", "dict", "list", "type", "self", "tools", "client", "services", "result"}
    kinds = ("implementation", "client")
    for kind in kinds:
        plan = plan_of(plain, "msgspec", kind=kind, project=project)
        tools = tuple(replace(tool, inject=_INJECTED) for tool in plan.tools)
        for file in LANGUAGE.write(replace(plan, tools=tools)).files:
            if file.path.endswith(".py") and "_support/" not in file.path:
                names |= _bound(file.text)
    every = [Given(name, schema, schema if at % 3 else None) for at, name in enumerate(sorted(names))]
    assert {"ferrule", "decode_output", "logging", "annotations", "str", "written"} < names
    for kind in kinds:
        plan = plan_of(every, "msgspec", kind=kind, project=project)
        assert not {"con", "nul", "com1"} & {tool.stem for tool in plan.tools}
        tools = tuple(replace(tool, inject=_INJECTED) for tool in plan.tools)
        write(tmp_path, LANGUAGE.write(replace(plan, tools=tools)))
    assert ruff_objects(tmp_path) == ""
    assert checked_by_mypy(tmp_path, "tools", "services", "tests", "client") == (0, "")


def test_mypy_has_no_objections(tmp_path: Path) -> None:
    for flavour in FLAVOURS:
        write(tmp_path, written(_GIVEN, flavour), f"catalog_{flavour}")
        write(tmp_path, written(_random(11, 10), flavour), f"random_{flavour}")
    packages = [f"{kind}_{flavour}" for flavour in FLAVOURS for kind in ("catalog", "random")]
    assert checked_by_mypy(tmp_path, *packages) == (0, "")


def test_pyright_has_no_objections(tmp_path: Path) -> None:
    for flavour in FLAVOURS:
        write(tmp_path, written(_GIVEN, flavour), f"catalog_{flavour}")
    toolchains.pyright().run("--pythonpath", sys.executable, ".", cwd=tmp_path)
