"""The test of a tool, for a person to go on with."""

from __future__ import annotations

from ferrule.contracts.language import ToolPlan
from ferrule.definitions.stubs.languages.python.function_text import gives_null, joined_lines, name_of
from ferrule.definitions.stubs.languages.python.injecting import Parameter
from ferrule.definitions.stubs.languages.python.source_text import aliased, call, docstring, imported

_INDENT = " " * 4


def test_of(tool: ToolPlan, given: list[Parameter]) -> str:
    """A person's file."""
    passed = ["cast(ferrule.Context, Mock())", "value", *(f"{each.name}=Mock()" for each in given)]
    names = ["decode_input", *(["encode_output"] if tool.output is not None else [])]
    ends = ["assert encode_output(result)"] if tool.output is not None else ["assert result is not None"]
    if gives_null(tool):
        names, ends = ["decode_input"], []
    return joined_lines(
        [
            *docstring([f"Tests of {name_of(tool)}. This file is yours: it is written once, and never again."]),
            "",
            "from __future__ import annotations",
            "",
            "import asyncio",
            "from typing import cast",
            "from unittest.mock import Mock",
            "",
            "import ferrule",
            "import pytest",
            "",
            *aliased("tools", tool.stem, "written"),
            *imported("tools._generated._support.json_text", ["DecodeError"]),
            *imported(f"tools._generated.{tool.stem}", names),
            "",
            "",
            "def test_what_is_no_json_is_refused() -> None:",
            f"{_INDENT}with pytest.raises(DecodeError):",
            f'{_INDENT * 2}decode_input(b"no JSON")',
            "",
            "",
            '@pytest.mark.skip(reason="write an input, and what should come of it")',
            "def test_an_input_gives_what_it_should() -> None:",
            f'{_INDENT}value = decode_input(b"{{}}")',
            *_asyncio_run(f"written.{tool.stem}(", passed, "" if gives_null(tool) else "result = "),
            *(f"{_INDENT}{line}" for line in ends),
        ]
    )


def _asyncio_run(head: str, passed: list[str], result: str) -> list[str]:
    return [*call(f"made = {head}", passed, _INDENT), f"{_INDENT}{result}asyncio.run(made)"]
