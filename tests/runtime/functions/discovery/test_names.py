"""Names of tools read from the text of Python files."""

from __future__ import annotations

from pathlib import Path

from ferrule.runtime.functions.discovery import read_tool_names
from tests.cli.run import ferrule

FILE = """
import ferrule

raise SystemExit("nobody runs this")


@ferrule.tool(read_only=True)
def paint() -> None: ...


@ferrule.tool(name="wash-up", namespace="kitchen")
async def wash() -> None: ...


def helper() -> None: ...
"""


def test_marked_functions_are_found_by_every_name_they_may_have(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(FILE)
    assert read_tool_names(tmp_path, ["tools.py"]) == frozenset({"paint", "wash", "wash-up", "kitchen"})


def test_nobody_can_tell_the_names_in_what_is_not_there_or_not_python(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:")
    assert read_tool_names(tmp_path, ["broken.py"]) is None
    assert read_tool_names(tmp_path, ["some.module"]) is None


def test_a_rule_about_a_function_is_about_something(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(FILE)
    (tmp_path / "ferrule.toml").write_text('namespace = "home"\n[functions]\nmodules = ["tools.py"]\n')
    rule = '[[rules]]\ndecision = "deny"\ntool = ["paint", "home.paint", "wash-up", "pant"]\nnamespace = "home"\n'
    (tmp_path / "policy.toml").write_text(rule)
    told = ferrule("check", folder=tmp_path).out
    assert told.count("FER-11") == 1, told
    assert "is called 'pant'" in told and "did you mean 'paint'?" in told
