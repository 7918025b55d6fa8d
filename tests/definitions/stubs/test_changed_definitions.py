"""A definition changes, and the person's file no longer compiles until somebody has looked: with the real compilers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.run import ferrule
from tests.definitions.stubs.agent import agent_for
from tests.definitions.stubs.languages.toolchains import Tool


class Compiler(NamedTuple):
    """How a project is compiled."""

    tool: Callable[[], Tool]
    arguments: tuple[str, ...]
    file: str
    """The person's file of the tool that changes."""


COMPILERS = {
    "python": Compiler(
        lambda: Tool((sys.executable, "-m", "mypy"), {"PATH": "/usr/bin:/bin"}), ("--strict", "."), "tools/find_sku.py"
    ),
}


@pytest.mark.parametrize("language", COMPILERS)
def test_a_changed_input_is_an_error_in_the_file_of_the_person(language: str, tmp_path: Path) -> None:
    """ADL-41: the project compiles before anything is written, and again once the new digits are in the person's file."""
    compiler = COMPILERS[language]
    stubs, mine = tmp_path / "stubs", tmp_path / "stubs" / compiler.file
    (tmp_path / "agent.yaml").write_text(agent_for(language))
    assert ferrule("gen", language, "--project", "--out", "stubs", folder=tmp_path).code == 0
    run = compiler.tool().run
    run(*compiler.arguments, cwd=stubs)

    (tmp_path / "agent.yaml").write_text(agent_for(language).replace("row: {type: integer}", "row: {type: string}"))
    before = mine.read_text()
    ran = ferrule("gen", "--out", "stubs", folder=tmp_path)
    assert ran.code == 0
    assert f"{compiler.file} was written for another input or output of clerk.find_sku" in ran.out
    assert mine.read_text() == before
    with pytest.raises(AssertionError) as told:
        run(*compiler.arguments, cwd=stubs)
    assert Path(compiler.file).name in str(told.value)

    found = re.search(r"written for .* \(([0-9a-f]{8})\):\n.* then write ([0-9a-f]{8}) in it", ran.out)
    assert found is not None
    old, new = found.groups()
    mine.write_text(before.replace(old, new).replace(old.upper(), new.upper()))
    run(*compiler.arguments, cwd=stubs)
    assert "was written for another" not in ferrule("gen", "--out", "stubs", folder=tmp_path).out
