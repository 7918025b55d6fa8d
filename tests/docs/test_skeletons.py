"""`make new` writes parts that load."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from scripts.new_part import write


@pytest.mark.parametrize("kind", ["rule", "dialect", "reporter", "executor", "sink", "notifier"])
def test_skeleton_is_valid_python_and_says_what_is_left(kind: str, tmp_path: Path) -> None:
    steps = write(tmp_path, kind, "empty-husk", "oxp", "OXP-5")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert any("builtin.py" in step or "pages.py" in step for step in steps)
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "@" not in text
        if path.suffix == ".py":
            assert "EmptyHusk" in {
                node.name[:9] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)
            }
            runpy.run_path(str(path))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path, "reporter", "empty-husk")
    with pytest.raises(SystemExit, match="there already"):
        write(tmp_path, "reporter", "empty-husk")
