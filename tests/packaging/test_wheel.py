"""The wheel installs into an empty environment and works from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def run(command: Sequence[str | Path], **more: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    words = [str(word) for word in command]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=600, env=environment, cwd=str(more.get("cwd", ROOT))
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "."])
    assert built.returncode == 0, built.stderr
    return next(folder.glob("ferrule-*.whl"))


def test_wheel_holds_types_licence_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "ferrule/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "bench", "scripts", "demo"))]


def test_wheel_runs_on_its_own(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    installed = run([python, "-m", "pip", "install", "--quiet", wheel], cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    ferrule = tmp_path / "env" / "bin" / "ferrule"
    assert run([ferrule, "--version"], cwd=tmp_path).stdout.startswith("ferrule ")
    assert run([ferrule, "init", "fresh"], cwd=tmp_path).returncode == 0
    clean = run([ferrule, "check", "fresh", "--format", "json"], cwd=tmp_path)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert json.loads(clean.stdout)["summary"]["tools"] >= 4
    answered = run([ferrule, "call", "find-customer", "--email", "ana@example.org"], cwd=tmp_path / "fresh")
    assert answered.returncode == 0, answered.stderr
    assert json.loads(answered.stdout)["name"] == "Ana Ferreira"
    assert run([ferrule, "audit", "verify"], cwd=tmp_path / "fresh").returncode == 0
    (tmp_path / "broken.tool.md").write_text("---\ntool_id: ab\n---\n")
    broken = run([ferrule, "check", "broken.tool.md"], cwd=tmp_path)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "AML-9" in broken.stdout
    assert run([ferrule, "check", "nowhere"], cwd=tmp_path).returncode == 2
