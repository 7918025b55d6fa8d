"""Modules with functions, from files and by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.errors import BindingError
from ferrule.runtime.functions import functions_in, load_modules

SOURCE = '''
from __future__ import annotations
from dataclasses import dataclass
from ferrule.runtime.functions import tool

@dataclass
class Line:
    sku: str

@tool(read_only=True)
def count(lines: list[Line]) -> int:
    """Count the lines."""
    return len(lines)
'''


@pytest.fixture(autouse=True)
def own_path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def test_a_file_of_the_workspace_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "orders.py").write_text(SOURCE, encoding="utf-8")
    (binding,) = functions_in(load_modules(tmp_path, ["tools/orders.py"]))
    assert binding.label == "tools.orders:count"  # the same on every machine
    assert binding.tool is not None
    assert binding.tool.tool_id == "orders.count"


def test_a_module_is_found_beside_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "shop_functions_here.py").write_text(SOURCE, encoding="utf-8")
    (module,) = load_modules(tmp_path, ["shop_functions_here"])
    assert [binding.label for binding in functions_in(module)] == ["shop_functions_here:count"]
    del sys.modules["shop_functions_here"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("gone.py", None, "there is no file 'gone.py'"),
        ("broken.py", "raise ValueError('no')", "cannot be run: ValueError: no"),
        ("leaving.py", "raise SystemExit(9)", "cannot be run: SystemExit: 9"),
        ("wrong.py", "def f(:", "cannot be run: SyntaxError"),
        ("no_such_module_at_all", None, "cannot be imported: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_loaded_is_told(name: str, text: str | None, told: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BindingError, match=told):
        load_modules(tmp_path, [name])
