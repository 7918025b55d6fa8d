"""A workspace looked over as a whole: it stays as it was, may be in use, and one broken part does not hide the others."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.app.doctor.checkup import check_workspace
from ferrule.app.doctor.doctor import Examination
from ferrule.app.opening import open_app
from ferrule.errors import FerruleError
from tests.runtime.executors.oxp.upstream import ECHO

FUNCTION = '''
from ferrule import tool

@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b
'''


def _workspace(folder: Path, settings: str = "") -> Path:
    (folder / "functions.py").write_text(FUNCTION, encoding="utf-8")
    (folder / "ferrule.toml").write_text(f'[functions]\nmodules = ["functions.py"]\n{settings}', encoding="utf-8")
    return folder


def _looked_over(folder: Path, **options: Any) -> dict[str, Examination]:
    found = asyncio.run(check_workspace(folder, os.environ, **options))
    return {one.name: one for one in (*found.workspace, *found.tools)}


async def _called(folder: Path) -> None:
    async with open_app(folder, rules=[{"id": "all", "decision": "allow", "tool": "*"}]) as app:
        await app.surface().call("add", {"a": 1, "b": 2})


def test_looking_leaves_the_workspace_as_it_was(tmp_path: Path) -> None:
    folder = _workspace(tmp_path)
    before = sorted(file.name for file in folder.iterdir())
    found = _looked_over(folder)
    assert sorted(file.name for file in folder.iterdir() if file.name != "__pycache__") == before
    assert {found[name].health for name in ("ledger", "keys", "catalog")} == {"unproven"}
    (tool,) = [one for one in found.values() if one.kind == "function"]
    assert tool.health == "unproven"


def test_a_workspace_in_use_is_looked_over(tmp_path: Path) -> None:
    folder = _workspace(tmp_path)
    asyncio.run(_called(folder))
    (folder / ".env").write_text("A=b\n", encoding="utf-8")
    (folder / ".env").chmod(0o644)
    found = _looked_over(folder)
    assert found["ledger"].health == found["keys"].health == found["policy"].health == "works"
    assert found[".env"].health == "warned" and "chmod 600" in found[".env"].told
    key = folder / ".ferrule" / "keys" / "approval.key"
    key.chmod(0o644)
    (folder / "policy.toml").write_text("[[rules]]\nid = 7\n", encoding="utf-8")
    found = _looked_over(folder)
    assert found["keys"].health == "broken" and "approval.key" in found["keys"].told
    assert found["policy"].health == "broken"


def test_a_ledger_that_somebody_holds_is_told(tmp_path: Path) -> None:
    folder = _workspace(tmp_path)
    asyncio.run(_called(folder))
    holder = sqlite3.connect(folder / ".ferrule" / "ledger.db", isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        assert "locked" in _looked_over(folder)["ledger"].told
    finally:
        holder.close()
    assert _looked_over(folder)["ledger"].health == "works"


def test_a_module_that_cannot_be_loaded_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = _workspace(tmp_path)
    (folder / "broken.py").write_text("import no_such_module_anywhere\n", encoding="utf-8")
    (folder / "ferrule.toml").write_text('[functions]\nmodules = ["functions.py", "broken.py"]\n', encoding="utf-8")
    found = _looked_over(folder)
    assert (
        found["functions broken.py"].health == "broken"
        and "no_such_module_anywhere" in found["functions broken.py"].told
    )
    assert any(one.kind == "function" for one in found.values())


def test_only_the_tools_that_are_named_are_looked_at(tmp_path: Path) -> None:
    folder = _workspace(tmp_path)
    found = _looked_over(folder, names=["add"])
    assert len(found) == 1
    with pytest.raises(FerruleError, match=r"no tool 'adx'.*add"):
        _looked_over(folder, names=["adx"])


def test_a_folder_without_anything_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(FerruleError, match="no workspace"):
        _looked_over(tmp_path)


def test_a_tool_without_its_function_and_its_secret_is_told_to_lack_both(tmp_path: Path) -> None:
    """A call is told of the secret, and sends its caller to the doctor."""
    folder = _workspace(tmp_path)
    needy = {**ECHO, "requirements": {"secrets": [{"id": "POST_KEY"}]}}
    (folder / "echo.json").write_bytes(msgspec.json.encode(needy))
    told = _looked_over(folder)["Echo.Text"].told
    assert told.startswith("no function is bound to it") and "; besides, it needs 'POST_KEY', which is not set" in told
    with (folder / "ferrule.toml").open("a", encoding="utf-8") as file:
        file.write('[secrets.bindings]\nPOST_KEY = { source = "env", name = "HOME" }\n')
    assert "POST_KEY" not in _looked_over(folder)["Echo.Text"].told
