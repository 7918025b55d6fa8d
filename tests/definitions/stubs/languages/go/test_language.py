"""What is written for the catalog of schemas and for a project is what it was: a change of it is a change to look at.

`FERRULE_WRITE_GOLDEN=1` writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.definitions.stubs.languages.go.language import LANGUAGE
from ferrule.definitions.stubs.plan import StubChoice
from tests.definitions.stubs.languages.go.compiled_program import planned, tool_of
from tests.definitions.stubs.languages.go.project import project_plan
from tests.definitions.stubs.languages.nasty import CASES, Case

_GOLDEN = Path(__file__).with_name("golden")
_PROJECT = (
    ".gitignore",
    "config/config_gen.go",
    "go.mod",
    "internal/shop/shop.go",
    "main.go",
    "README.md",
    "tools/greet.go",
    "tools/greet_gen.go",
    "tools/greet_test.go",
    "tools/loose.go",
    "tools/read_gen.go",
    "tools/registry_gen.go",
)


def _compare(name: str, text: str) -> None:
    path = _GOLDEN / name
    if os.environ.get("FERRULE_WRITE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_types_of_each_schema(case: Case) -> None:
    """ADL-47"""
    made = LANGUAGE.write(planned([tool_of(case.name, case.schema)]))
    (file,) = (each for each in made.files if each.path == f"tools/{case.name}_gen.go")
    _compare(f"types/{case.name}_gen.go.txt", file.text)


@pytest.mark.parametrize("path", _PROJECT)
def test_the_files_of_a_project(path: str) -> None:
    """ADL-41, ADL-43, ADL-44, ADL-48, ADL-52"""
    files = {each.path: each for each in LANGUAGE.write(project_plan()).files}
    _compare(f"project/{path}.txt", files[path].text)
    assert ("DO NOT EDIT" in files[path].text.partition("\n")[0]) == (files[path].standing == "generated")


def test_the_file_of_a_client() -> None:
    made = LANGUAGE.write(planned([tool_of("get_user_id", {"type": "object"})], StubChoice(kind="client")))
    _compare("client/get_user_id_gen.go.txt", made.files[0].text)


def test_two_runs_write_the_same() -> None:
    """ADL-52"""
    assert LANGUAGE.write(project_plan()) == LANGUAGE.write(project_plan())
