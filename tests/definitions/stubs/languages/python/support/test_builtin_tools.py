"""The tools that come along with Ferrule, as functions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context
from ferrule.definitions.stubs.languages.python.support.builtin_tools import Builtin
from ferrule.definitions.stubs.languages.python.support.shapes import Codec, Types
from ferrule.model.builtin_tools import BUILTIN_TOOLS


def builtin(tool_id: str = "clerk.read", **config: Any) -> Builtin[Any]:
    schema = json.dumps(BUILTIN_TOOLS["read"].schema)
    codec: Codec[Any] = Codec(Types(schema, '{"A": {"kind": "alias", "shape": "any"}}'), "A")
    said = json.dumps({"enabled": True, **config})
    return Builtin(codec, tool_id=tool_id, name="read", description="Reads.", tags=("files",), config=said)


def test_it_is_a_tool_with_its_schema_and_its_settings() -> None:
    tool = builtin(max_lines=5).tool
    assert (tool.namespace, tool.name, tool.dialect, tool.tags) == ("clerk", "read", "adl", ("files",))
    assert json.loads(bytes(tool.input_schema)) == BUILTIN_TOOLS["read"].schema
    assert json.loads(bytes(tool.payload)) == {"config": {"enabled": True, "max_lines": 5}}
    assert builtin("read").tool.namespace == "builtin"


@pytest.mark.parametrize("is_named", [True, False])
def test_it_works_in_the_folder_that_is_named_or_in_that_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    (tmp_path / "note.txt").write_text("hello there\n")
    monkeypatch.chdir(Path(tmp_path.anchor) if is_named else tmp_path)
    context = Context("inv_1", "ann", None, "default")
    work = builtin()(context, {"file_path": "note.txt"}, root=tmp_path if is_named else None)
    assert "hello there" in str(asyncio.run(work))
